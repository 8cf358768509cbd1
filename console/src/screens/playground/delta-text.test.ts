import { type Delta, deltaTexts, isJsonDocument } from "./delta-text.ts";

const textOf = (deltas: readonly Delta[]): string => deltas.map(deltaTexts()).join("");

const named = (name: string): Delta => ({ tool_calls: [{ function: { name, arguments: "" } }] });
const argument = (text: string): Delta => ({ tool_calls: [{ function: { arguments: text } }] });

test("tool calls are blocks of code between the text of an answer, with the very arguments", () => {
  const text = textOf([
    { content: "I *ask*." },
    named("find_all"),
    argument('{"a_b_": "*x*'),
    argument(' __y__"}'),
    named("other"),
    argument("{}"),
    { content: "Done." },
  ]);
  const calls = ['find_all {"a_b_": "*x* __y__"}', "other {}"].map((call) => `\n\`\`\`\n${call}\n\`\`\`\n`);
  expect(text).toBe(`I *ask*.${calls.join("")}Done.`);
});

test("a call at the end of an answer stays open, which is a block of code, too, and text alone is unchanged", () => {
  expect(textOf([named("find"), argument('{"_a_": 1}')])).toBe('\n```\nfind {"_a_": 1}');
  expect(textOf([{ content: "a" }, { content: null }, {}, { content: "b" }])).toBe("ab");
});

test.each([
  ['{"a_b": "*x*"}', true],
  ["\n[1, 2]\n", true],
  ['{"a": ', false],
  ["[a link](https://example.org)", false],
  ["12", false],
  ["", false],
])("%j is a JSON document: %s", (text, expected) => {
  expect(isJsonDocument(text)).toBe(expected);
});
