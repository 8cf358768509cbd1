import type { Team } from "./records.ts";
import { followBalance, followOrganization, teamState } from "./team-state.ts";

const team: Team = { id: "team_1", name: "a", nameKey: "a", organizationId: "org_1", createdAt: 1, updatedAt: 1 };

test("below zero a team is blocked, at zero and above it is not: the document's state machine", () => {
  const blocked = followBalance(team, -1n, 5);
  expect(blocked && teamState(blocked)).toEqual({ status: "blocked", reason: "quota", at: 5 });
  expect(followBalance(team, 0n, 5)).toBeUndefined();
  const again = blocked && followBalance(blocked, 0n, 6);
  expect(again && teamState(again)).toEqual({ status: "active" });
  expect(blocked && followBalance(blocked, -2n, 7)).toBeUndefined();
});

test("no purchase lifts an admin's block", () => {
  const both: Team = { ...team, blockedByAdminAt: 3, blockedByQuotaAt: 4 };
  expect(teamState(both)).toMatchObject({ reason: "admin" });
  const paid = followBalance(both, 100n, 9);
  expect(paid && teamState(paid)).toEqual({ status: "blocked", reason: "admin", at: 3 });
});

test("a block of the organization comes and goes without touching the team's own, and no purchase lifts it", () => {
  const both = followOrganization({ ...team, blockedByAdminAt: 3 }, 5, 6);
  const lifted = both && followOrganization(both, undefined, 7);
  expect(lifted && teamState(lifted)).toEqual({ status: "blocked", reason: "admin", at: 3 });
  const alone = followOrganization({ ...team, blockedByQuotaAt: 4 }, 5, 6);
  expect(alone && teamState(alone)).toEqual({ status: "blocked", reason: "admin", at: 5 });
  const paid = alone && followBalance(alone, 0n, 9);
  expect(paid && teamState(paid)).toEqual({ status: "blocked", reason: "admin", at: 5 });
  expect(alone && followOrganization(alone, 5, 8)).toBeUndefined();
});
