import { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import { fakeClock } from "../../access/clock-fixture.ts";
import { createMemoryRecords } from "./memory-records-fixture.ts";
import { BLOCKED, OWNER, recordsContract } from "./records-contract.ts";

recordsContract("memory", async () => {
  const clock = fakeClock();
  const callers = [Caller.fromPartial({ ...OWNER, status: "active" }), Caller.fromPartial({ ...BLOCKED, status: "team_blocked" })];
  const records = createMemoryRecords({ clock, callerOf: (keyId) => callers.find((caller) => caller.keyId === keyId) });
  return { records, clock, close: async () => {} };
});
