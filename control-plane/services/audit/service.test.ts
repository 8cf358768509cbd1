import { plant } from "../../proof/ledger-fixture.ts";
import { openPlatform, type Platform, type Who } from "../platform-fixture.ts";
import { teamsHandlers } from "../teams/service.ts";
import { auditHandlers } from "./service.ts";

let platform: Platform;
beforeEach(async () => {
  platform = await openPlatform();
});
afterEach(() => platform.close());

const audit = () => auditHandlers(platform.deps);
const createTeam = (who: Who, name: string) => teamsHandlers(platform.deps).createTeam({ name }, platform.as(who));

test("only platform admins verify the log; a changed entry is named", async () => {
  const { anonymous, operator, ...others } = await platform.outcomes((context) => audit().verifyAudit({}, context));
  expect([anonymous, operator, ...new Set(Object.values(others))]).toEqual(["UNAUTHORIZED", "ok", "FORBIDDEN"]);
  for (const name of ["a", "b", "c"]) await createTeam("owner", name);
  const sound = await audit().verifyAudit({}, platform.as("operator"));
  expect(sound).toEqual({
    ok: true,
    entries: 3n,
    chained: 3n,
    lastSeq: 3n,
    hash: expect.stringMatching(/^[0-9a-f]{64}$/),
    firstBad: undefined,
  });
  await plant(platform.deps.store, "audit", 2, { actorId: 999 });
  expect(await audit().verifyAudit({}, platform.as("operator"))).toMatchObject({ ok: false, firstBad: { seq: 2n, kind: "chain" } });
});
