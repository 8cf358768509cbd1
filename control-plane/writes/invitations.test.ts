import { createHash } from "node:crypto";
import { systemClock } from "../../common/clock.ts";
import { systemRandom } from "../../common/random.ts";
import type { Team, User } from "../domain/records.ts";
import { openTestStore } from "../stores/test-store.ts";
import { acceptInvitation, putInvitation, requireInvitation } from "./invitations.ts";

const WEEK_MS = 7 * 24 * 3_600_000;
const NOW = 1_000_000;
const INVITER = 1;

const { store, close } = openTestStore();
afterAll(close);

const team: Team = { id: "team_1", name: "t", nameKey: "t", organizationId: "org_1", createdAt: 1, updatedAt: 1 };
const user: User = { id: 7, email: "a@example.org", name: "A", role: "user", organizationId: "org_7", passwordHash: "", createdAt: 1 };
const hashToken = (token: string) => createHash("sha256").update(token).digest("hex");
const source = { clock: { ...systemClock, now: () => NOW }, random: systemRandom, hashToken };

beforeAll(() =>
  store.transaction("every", async (tx) => {
    await tx.insert("teams", team);
    await tx.insert("users", { ...user, id: INVITER, email: "owner@example.org" });
    await tx.insert("teamMembers", { id: `team_1/${INVITER}`, teamId: team.id, userId: INVITER, role: "owner", invitedAt: 1, joinedAt: 1 });
  }),
);

const invite = (email: string) =>
  store.transaction("every", (tx) => putInvitation(tx, source, { team, email, role: "member", invitedBy: INVITER }));
const open = (token: string, email: string, now: number) =>
  store.transaction("every", (tx) => requireInvitation(tx, { token, email, hashToken }, now));

test("a token opens its invitation for seven days and not a millisecond longer", async () => {
  const { token, invitation } = await invite(user.email);
  expect(invitation.expiresAt).toBe(NOW + WEEK_MS);
  expect((await open(token, user.email, NOW + WEEK_MS - 1)).id).toBe(invitation.id);
  await expect(open(token, user.email, NOW + WEEK_MS)).rejects.toMatchObject({ code: "NOT_FOUND" });
  // The holder of an ended token learns nothing about its address.
  await expect(open(token, "b@example.org", NOW + WEEK_MS)).rejects.toMatchObject({ code: "NOT_FOUND" });
});

test("an invitation from before there were tokens opens for nothing, and works after it is made again", async () => {
  const old = { id: "inv_old", teamId: team.id, organizationId: "org_1", email: "old@example.org", role: "owner" } as const;
  await store.transaction("every", (tx) =>
    tx.insert("invitations", { ...old, invitedBy: INVITER, invitedAt: NOW, expiresAt: NOW + WEEK_MS }),
  );
  for (const token of ["inv_old", "inv_old.", "inv_old.undefined", ""])
    await expect(open(token, old.email, NOW)).rejects.toMatchObject({ code: "NOT_FOUND" });
  const { token, invitation, isNew } = await invite(old.email);
  expect([invitation.id, isNew]).toEqual(["inv_old", false]);
  expect((await open(token, old.email, NOW)).role).toBe("member");
});

test("what is stored of a token does not open the invitation", async () => {
  const { invitation } = await invite("hash@example.org");
  await expect(open(`${invitation.id}.${invitation.tokenHash}`, "hash@example.org", NOW)).rejects.toMatchObject({ code: "NOT_FOUND" });
});

test("an accepted invitation is used up and leaves the role of a person who is in the team already", async () => {
  const { token, invitation } = await invite("member@example.org");
  const member = { id: "team_1/7", teamId: "team_1", userId: 7, role: "owner", invitedAt: 1, joinedAt: 1 } as const;
  await store.transaction("every", (tx) => tx.insert("teamMembers", member));
  await store.transaction("every", (tx) => acceptInvitation(tx, invitation, user, NOW));
  expect((await store.get("teamMembers", "team_1/7"))?.role).toBe("owner");
  expect(await store.get("organizationMembers", "org_1/7")).toMatchObject({ role: "member" });
  await expect(open(token, "member@example.org", NOW)).rejects.toMatchObject({ code: "NOT_FOUND" });
});
