import { systemClock } from "../../../common/clock.ts";
import { silentLogger } from "../../../common/logger.ts";
import { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import { createMemoryRecords } from "../records/memory-records-fixture.ts";
import { conversationUpTo } from "./stored-responses.ts";

const OWNER = { teamId: "team_1", organizationId: "org_1", keyId: "key_1" };
const caller = Caller.fromPartial(OWNER);
const LINK_BYTES = 2 * 1024 * 1024;

test("a chain of responses is read up to 16 MiB of items; a longer one is refused without reading on", async () => {
  const records = createMemoryRecords({ clock: systemClock });
  for (let number = 1; number <= 12; number++) {
    const output = [{ type: "message", role: "assistant", content: "x".repeat(LINK_BYTES) }];
    const response = { output, previous_response_id: number === 1 ? null : `resp_${number - 1}` };
    const record = { kind: "response", id: `resp_${number}`, body: { input: [], response }, createdAtMs: number } as const;
    await records.commit(OWNER, [{ type: "create", ...record }]);
  }
  const read: string[] = [];
  const get: typeof records.get = async (teamId, kind, id) => {
    read.push(id);
    return await records.get(teamId, kind, id);
  };
  const counted = { list: records.list.bind(records), commit: records.commit.bind(records), get };
  const deps = { records: { ...records, ...counted }, clock: systemClock, logger: silentLogger };
  expect(await conversationUpTo(deps, caller, "resp_7")).toHaveLength(7);
  read.length = 0;
  const refusal = { code: "INVALID_REQUEST", param: "previous_response_id", message: expect.stringContaining("16 MiB") };
  await expect(conversationUpTo(deps, caller, "resp_12")).rejects.toMatchObject(refusal);
  expect(read).toHaveLength(8);
});
