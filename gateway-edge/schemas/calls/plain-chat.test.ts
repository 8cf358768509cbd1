import { chatRequest, parseChatRequest } from "./chat.ts";
import { isPlainChat } from "./plain-chat.ts";

const messages = [{ role: "user", content: "hi" }];
const plain = { model: "echo", messages };

/** Values that a field may have; which of them are right is the schema's to say. */
const VALUES: readonly unknown[] = [
  undefined,
  null,
  true,
  "",
  "text",
  0,
  1,
  -1,
  1.5,
  2,
  2.1,
  1e300,
  Number.POSITIVE_INFINITY,
  [],
  ["text"],
  {},
  { include_usage: true },
  { include_usage: "yes" },
  { include_usage: true, more: 1 },
  "x".repeat(257),
];
const FIELDS = [...Object.keys(chatRequest.shape), "unknown_field", "api_base", "__proto__"];

test("whatever is taken for plain is what the schema takes, as it is", () => {
  const taken: string[] = [];
  for (const name of FIELDS) {
    for (const value of VALUES) {
      const body: unknown = JSON.parse(JSON.stringify({ ...plain, marker: 0 }).replace('"marker":0', `"${name}":${written(value)}`));
      if (!isPlainChat(body)) continue;
      taken.push(`${name}=${written(value)}`);
      expect(chatRequest.parse(body)).toEqual(body);
      expect(parseChatRequest(body)).toEqual(body);
    }
  }
  expect(taken).toContain("temperature=1.5");
  expect(taken).toContain('stream_options={"include_usage":true}');
  expect(taken.filter((each) => /^(api_base|unknown_field|__proto__|tools|n)=/.test(each))).toEqual([]);
});

test.each([
  [undefined],
  [[]],
  [[null]],
  [["text"]],
  [[{ role: "user" }]],
  [[{ role: "user", content: "hi", name: "me" }]],
  [[{ role: "user", content: [{ type: "text", text: "hi" }] }]],
  [[{ role: "tool", content: "hi" }]],
  [[{ role: "nobody", content: "hi" }]],
  [Array.from({ length: 10_001 }, () => messages[0])],
])("messages that are not plain texts are left to the schema: %#", (given) => {
  expect(isPlainChat({ model: "echo", messages: given })).toBe(false);
});

test("a path's model goes before the body's, plain or not", () => {
  expect(parseChatRequest(plain, "other").model).toBe("other");
});

function written(value: unknown): string {
  return value === Number.POSITIVE_INFINITY ? "1e999" : (JSON.stringify(value) ?? "null");
}
