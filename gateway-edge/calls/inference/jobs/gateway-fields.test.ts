import { listLogsQuery } from "../../../schemas/platform/usage.ts";
import { rowTags } from "../call-row.ts";
import { chatJob } from "./chat.ts";
import { sessionTag, tagsOf } from "./gateway-fields.ts";

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
