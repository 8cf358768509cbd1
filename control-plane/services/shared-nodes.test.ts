import { isOperators } from "./shared-nodes.ts";

test("an address of the operator's is his under whatever path it was named; others are not", () => {
  const config = { serving: { urls: ["http://127.0.0.1:5000", "https://trainer.example/base"], token: undefined } };
  const judged = ["http://127.0.0.1:5000", "http://127.0.0.1:5000/", "https://trainer.example:443/other", "http://127.0.0.1:5001"];
  expect(judged.map((url) => isOperators(config, url))).toEqual([true, true, true, false]);
});
