import { readPath } from "./operations.ts";

const kindOf = (pathname: string, base = "") => {
  const { model, operation } = readPath(pathname, base);
  return [model, operation === undefined || operation === "free" ? operation : "billed"];
};

test.each([
  ["/v1/chat/completions", undefined, "billed"],
  ["/openai/v1/responses", undefined, "billed"],
  ["/v1beta/openai/chat/completions", undefined, "billed"],
  ["/openai/deployments/d/chat/completions", "d", "billed"],
  ["/v1beta/models/m%2D1:streamGenerateContent", "m-1", "billed"],
  ["/v1beta/models/m%3AgenerateContent", "m", "billed"],
  ["/v2/chat", undefined, "billed"],
  ["/v1/messages/count_tokens", undefined, "free"],
  ["/v1/chat", undefined, undefined],
  ["/chat", undefined, undefined],
  ["/v1/threads/t/messages", undefined, undefined],
  ["/v1/responses/r/cancel", undefined, undefined],
  ["/openai/deployments/d/extensions/chat/completions", "d", undefined],
  ["/v1beta/models/m:batchGenerateContent", "m", undefined],
  ["/v1beta/models/a/models/m:generateContent", undefined, undefined],
  ["/v1beta/tunedModels/m:generateContent", undefined, undefined],
  ["/v1/constructor", undefined, undefined],
  ["/v1/%zz", undefined, undefined],
])("%s names the model %s and is %s", (pathname, model, kind) => {
  expect(kindOf(pathname)).toEqual([model, kind]);
});

test("the provider's address is no part of the path, but for a deployment at its end", () => {
  expect(kindOf("/deep/base/v1/chat/completions", "/deep/base/")).toEqual([undefined, "billed"]);
  expect(kindOf("/openai/deployments/d/chat/completions", "/openai/deployments/d")).toEqual(["d", "billed"]);
});
