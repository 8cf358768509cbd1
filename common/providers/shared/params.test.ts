import { limitFieldOf, paramsOf } from "./params.ts";
import { PROVIDER_KINDS } from "./registry.ts";

test("a model has the parameters and the limit field of its family, however many other models were asked for", () => {
  const openai = PROVIDER_KINDS.find(({ kind }) => kind === "openai");
  if (!openai) throw new Error("no openai");
  const chat = paramsOf(openai, "chat");
  const seen = () => [chat("o3-mini"), chat("gpt-4o"), limitFieldOf(openai, "o3-mini"), limitFieldOf(openai, "gpt-4o")];
  const first = seen();
  expect(first[0]).not.toEqual(first[1]);
  for (let number = 0; number < 2500; number++) expect(chat(`model-${number}`)).toBe(chat("gpt-4o"));
  expect(seen()).toEqual(first);
});
