import { AppError } from "../../../common/errors.ts";
import { gatewayErrorBody } from "../../calls/gateway-error.ts";
import { parseChatRequest } from "./chat.ts";

const good = { model: "echo", messages: [{ role: "user", content: "hi" }] };

function refused(body: unknown): AppError {
  try {
    parseChatRequest(body);
  } catch (thrown) {
    if (thrown instanceof AppError) return thrown;
  }
  throw new Error(`accepted: ${JSON.stringify(body)}`);
}

test.each([
  [{}],
  [{ messages: [{ role: "user", content: [{ type: "video_url", video_url: { url: "https://a.test/v.mp4" } }] }] }],
  [{ messages: [{ role: "user", content: [{ type: "document_url", document_url: "https://a.test/d.pdf" }] }] }],
  [{ messages: [{ role: "assistant", content: [{ type: "thinking", thinking: [{ type: "text", text: "hm" }] }] }] }],
  [{ temperature: null, n: null, stop: null, tools: null, stream: null, user: null, max_tokens: null, fallbacks: null }],
  [{ temperature: 2, top_p: 0, n: 128, stop: ["a", "b"], seed: -1, logit_bias: { 50: -100 }, logprobs: true, top_logprobs: 20 }],
  [{ tools: [{ type: "function", function: { name: "f" } }], tool_choice: "auto", parallel_tool_calls: false }],
  [
    {
      messages: [
        { role: "developer", content: [{ type: "text", text: "x" }] },
        { role: "system", content: "s", name: null },
      ],
    },
  ],
  [
    {
      messages: [{ role: "assistant", content: null, tool_calls: [{ id: "c", type: "function", function: { name: "f", arguments: "" } }] }],
    },
  ],
  [
    {
      messages: [{ role: "assistant" }, { role: "tool", content: "r", tool_call_id: "c" }, { role: "function", content: null, name: "f" }],
    },
  ],
  [
    {
      messages: [
        {
          role: "user",
          content: [
            { type: "image_url", image_url: { url: "data:x" } },
            { type: "text", text: "?", cache_control: {} },
          ],
        },
      ],
    },
  ],
  [
    {
      caching: true,
      num_retries: 2,
      guardrails: ["g"],
      fallbacks: ["a"],
      context_window_fallback_dict: { a: "b" },
      metadata: { tags: ["t"] },
    },
  ],
  [{ a_field_nobody_knows: { deep: [1] } }],
])("accepted: %j", (fields) => {
  const request = parseChatRequest({ ...good, ...fields });
  expect(Object.values(request)).not.toContain(null);
});

test.each([
  [{ messages: [] }, "messages"],
  [{ messages: undefined }, "messages"],
  [{ messages: "hi" }, "messages"],
  [{ messages: Array.from({ length: 10_001 }, () => good.messages[0]) }, "messages"],
  [{ model: undefined }, "model"],
  [{ model: "" }, "model"],
  [{ model: 7 }, "model"],
  [{ messages: [{ role: "robot", content: "x" }] }, "messages[0].role"],
  [{ messages: [{ role: "user" }] }, "messages[0].content"],
  [{ messages: [{ role: "user", content: null }] }, "messages[0].content"],
  [{ messages: [{ role: "tool", content: "x" }] }, "messages[0].tool_call_id"],
  [{ temperature: 2.1 }, "temperature"],
  [{ temperature: "hot" }, "temperature"],
  [{ top_p: -0.1 }, "top_p"],
  [{ n: 0 }, "n"],
  [{ n: 129 }, "n"],
  [{ n: 1.5 }, "n"],
  [{ max_tokens: 0 }, "max_tokens"],
  [{ stop: ["1", "2", "3", "4", "5"] }, "stop"],
  [{ tools: Array.from({ length: 513 }, () => ({ type: "function" })) }, "tools"],
  [{ fallbacks: ["1", "2", "3", "4", "5", "6"] }, "fallbacks"],
  [{ logit_bias: { 5: 101 } }, "logit_bias.5"],
  [{ stream: "yes" }, "stream"],
])("422 for %j", (fields, param) => {
  expect(refused({ ...good, ...fields })).toMatchObject({ code: "UNPROCESSABLE", param });
});

test("a refusal tells both families of clients, and every fault", () => {
  const body = gatewayErrorBody(refused({ messages: [{ role: "user", content: 7 }], n: 129 }));
  expect(body.error).toEqual({ message: "model: Field required", type: "unprocessable_entity_error", param: "model", code: null });
  expect(body.detail?.map(({ loc }) => loc)).toEqual([
    ["body", "model"],
    ["body", "messages", 0, "content"],
    ["body", "n"],
  ]);
  expect(body.detail?.[0]).toEqual({ loc: ["body", "model"], msg: "Field required", type: "missing" });
});

test.each(["[]", "7", "null", '"x"'])("a body that is no object is refused: %s", (text) => {
  expect(refused(JSON.parse(text))).toMatchObject({ code: "UNPROCESSABLE", param: undefined });
});

test.each(["api_base", "api_key", "api_version", "api_type", "custom_llm_provider"])("%s is not a client's business", (field) => {
  expect(refused({ ...good, [field]: "x" })).toMatchObject({ code: "UNSUPPORTED_PARAMETER", param: field });
  expect(parseChatRequest({ ...good, [field]: null }).model).toBe("echo");
});

test("a model in the path wins over the body's and stands in for it", () => {
  expect(parseChatRequest(good, "other").model).toBe("other");
  expect(parseChatRequest({ messages: good.messages }, "other").model).toBe("other");
});
