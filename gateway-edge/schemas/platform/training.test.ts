import { createFederationBody } from "./training.ts";

const participants = Array.from({ length: 6 }, (_, index) => ({ url: `http://127.0.0.1:${5000 + index}` }));
const problemsOf = (given: object): string[] =>
  createFederationBody
    .safeParse({ participants, task: "mlp", ...given })
    .error?.issues.map(({ path, message }) => `${path.join(".")} ${message}`) ?? [];

test("a setting of an own strategy that its round records could not have is refused by name", () => {
  expect(problemsOf({ strategy: { name: "mine", lr: 0.5, layers: [1, 2] } })).toEqual([]);
  expect(problemsOf({ strategy: { name: "mine", round: 3, language: "de", source: "here" } })).toEqual(
    ["round", "language", "source"].map((name) =>
      expect.stringMatching(new RegExp(`^strategy\\.${name} cannot be a setting of an own strategy`)),
    ),
  );
});
