import type { UsageLog } from "../../api/types.ts";
import { callCurl } from "./call-curl.ts";

const log = (change: Partial<UsageLog>): UsageLog =>
  ({ endpoint: "/v1/chat/completions", model: "echo", stream: false, type: "chat", ...change }) as UsageLog;

test("a model name cannot break out of the shell quotes", () => {
  const text = callCurl(log({ model: "x'; rm -rf / #" }), "http://host");
  expect(text).toContain(`'{"model":"x'\\''; rm -rf / #"`);
});

test("the command has the endpoint and options of the call", () => {
  const text = callCurl(log({ endpoint: "/embeddings", type: "embedding" }), "http://host");
  expect(text).toContain("'http://host/v1/embeddings'");
  expect(text).toContain(`{"model":"echo","input":"…"}`);
  expect(callCurl(log({ stream: true }), "http://host")).toContain(`"stream":true`);
});
