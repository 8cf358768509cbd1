import { listLogsQuery } from "../../../schemas/platform/usage.ts";
import { rowTags } from "../call-row.ts";
import { chatJob } from "./chat.ts";
import { logTagsOf, providerFields, sessionTag, tagsOf } from "./gateway-fields.ts";

const asked = (metadata: Record<string, unknown>) => ({ model: "echo", messages: [{ role: "user" as const, content: "x" }], metadata });

test("the log has the session and all 16 tags of the caller, routing only the caller's", () => {
  const tags = Array.from({ length: 17 }, (_, index) => `tag-${index}`);
  const job = chatJob(asked({ tags, session_id: "s-1" }));
  expect(job.tags).toEqual(tags.slice(0, 16));
  expect(rowTags(job)).toEqual(["session:s-1", ...tags.slice(0, 16)]);
  expect(chatJob(asked({ tags: [] })).logTags).toBeUndefined();
});

test("long session IDs with the same beginning have different tags, of at most 64 characters", () => {
  const [first, second] = [`${"x".repeat(200)}1`, `${"x".repeat(200)}2`];
  expect(sessionTag(first)).toMatch(/^session:x{39}~[0-9a-f]{16}$/);
  expect(sessionTag(first)).not.toBe(sessionTag(second));
  expect(sessionTag("y".repeat(56))).toBe(`session:${"y".repeat(56)}`);
  // The row and the filter of logs have the same tag.
  expect(rowTags(chatJob(asked({ session_id: first })))).toEqual([sessionTag(first)]);
  expect(listLogsQuery.parse({ session: first }).session).toBe(first);
  expect(tagsOf({ metadata: { tags: ["t".repeat(70)] } })).toEqual(["t".repeat(64)]);
});

test("what LiteLLM's clients send to the gateway is read there, and reaches no provider, which would refuse it", () => {
  const forGateway = {
    tags: ["a"],
    litellm_metadata: { tags: ["b"], session_id: "s-2" },
    litellm_session_id: "s-1",
    litellm_trace_id: "t-1",
    litellm_call_id: "c-1",
    litellm_logging_obj: {},
    allowed_openai_params: ["seed"],
    additional_drop_params: ["seed"],
    extra_headers: { authorization: "Bearer x" },
  };
  expect(providerFields({ model: "echo", seed: 1, ...forGateway })).toEqual({ model: "echo", seed: 1 });
  expect([tagsOf(forGateway), logTagsOf(forGateway)]).toEqual([["b"], ["session:s-2"]]);
  expect([tagsOf({ tags: ["a"] }), logTagsOf({ litellm_session_id: "s-1" })]).toEqual([["a"], ["session:s-1"]]);
  // The documented place comes first; what is no list of texts is none.
  expect(tagsOf({ metadata: { tags: ["m"] }, tags: ["a"] })).toEqual(["m"]);
  expect([tagsOf({ tags: "a", metadata: null }), logTagsOf({ litellm_session_id: 5 })]).toEqual([[], undefined]);
});
