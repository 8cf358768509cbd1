import { secretSha256 } from "../../../common/key-shape.ts";
import type { UpdateTeamRequest } from "../../../proto/gen/tributary/teams/v1/teams.ts";
import { callerOfHash } from "../access/callers.ts";
import { keysHandlers } from "../keys/service.ts";
import { openPlatform, outcomeOf, type Platform, type Who } from "../platform-fixture.ts";
import { teamsHandlers } from "./service.ts";

let platform: Platform;
beforeEach(async () => {
  platform = await openPlatform();
});
afterEach(() => platform.close());

const teams = () => teamsHandlers(platform.deps);
const update = (who: Who, changes: Partial<UpdateTeamRequest>) =>
  teams().updateTeam({ id: platform.team.id, clear: [], ...changes }, platform.as(who));
const invite = (who: Who, email: string, role = "member") =>
  teams().inviteMember({ teamId: platform.team.id, email, role }, platform.as(who));
const setRole = (who: Who, of: Exclude<Who, "anonymous">, role: string) =>
  teams().updateMember({ teamId: platform.team.id, memberId: String(platform.users[of].id), role }, platform.as(who));
const remove = (who: Who, of: Exclude<Who, "anonymous">) =>
  teams().removeMember({ teamId: platform.team.id, memberId: String(platform.users[of].id) }, platform.as(who));
const tokenOf = (link: string | undefined) => new URL(link ?? "").searchParams.get("token") ?? "";

const NO_ACCESS = { anonymous: "UNAUTHORIZED", operator: "NOT_FOUND", colleague: "NOT_FOUND", stranger: "NOT_FOUND" };
const MANAGERS_ONLY = { ...NO_ACCESS, owner: "ok", manager: "ok", lead: "ok", member: "FORBIDDEN" };

test("a team is visible to its members and to managers of its organization; for others it does not exist", async () => {
  const outcomes = await platform.outcomes((context) => teams().getTeam({ id: platform.team.id }, context));
  expect(outcomes).toEqual({ ...NO_ACCESS, owner: "ok", manager: "ok", lead: "ok", member: "ok" });
  const { teams: seen } = await teams().listTeams({ page: undefined }, platform.as("colleague"));
  expect(seen).toEqual([]);
});

test("only owners and admins of an organization create teams in it", async () => {
  const outcomes = await platform.outcomes((context, who) => teams().createTeam({ name: `of ${who}` }, context));
  // The operator and the stranger are owners of their own organizations.
  expect(outcomes).toEqual({
    anonymous: "UNAUTHORIZED",
    operator: "ok",
    owner: "ok",
    manager: "ok",
    lead: "FORBIDDEN",
    member: "FORBIDDEN",
    colleague: "FORBIDDEN",
    stranger: "ok",
  });
});

test("names of teams are unique in an organization, whatever their case", async () => {
  await teams().createTeam({ name: "Research" }, platform.as("owner"));
  expect(await outcomeOf(teams().createTeam({ name: "RESEARCH" }, platform.as("manager")))).toBe("ALREADY_EXISTS");
  expect(await outcomeOf(update("owner", { name: "research" }))).toBe("ALREADY_EXISTS");
  expect(await outcomeOf(teams().createTeam({ name: "Research" }, platform.as("stranger")))).toBe("ok");
});

test("a team has the limits and the budget that it is created with, from its first call on", async () => {
  const limits = { models: { names: ["echo"] }, guardrails: { names: ["pii"] }, rpm: 5, tpm: 6, maxParallelRequests: 7 };
  const budget = { maxBudget: 9n, period: "daily", clear: false };
  const { team } = await teams().createTeam({ name: "Limited", ...limits, budget }, platform.as("owner"));
  const stored = { ...limits, budget: { maxBudget: 9n, period: "daily", spend: 0n } };
  expect(team).toMatchObject(stored);
  expect((await teams().getTeam({ id: team?.id ?? "" }, platform.as("owner"))).team).toMatchObject(stored);
  expect(await platform.deps.store.get("budgetUses", `team:${team?.id}`)).toMatchObject({ period: "daily", spend: 0n });
  const periodAlone = { name: "No budget", budget: { period: "daily", clear: false } };
  expect(await outcomeOf(teams().createTeam(periodAlone, platform.as("owner")))).toBe("VALIDATION_ERROR");
});

test("managers of a team change it", async () => {
  expect(await platform.outcomes((_context, who) => update(who, { rpm: 5 }))).toEqual(MANAGERS_ONLY);
});

test("only managers of the organization change a team's budget", async () => {
  const budget = { maxBudget: 5n, clear: false };
  expect(await platform.outcomes((_context, who) => update(who, { budget }))).toEqual({ ...MANAGERS_ONLY, lead: "FORBIDDEN" });
});

test("only a platform admin blocks a team, and a purchase would not lift it", async () => {
  const outcomes = await platform.outcomes((context) => teams().setTeamBlock({ id: platform.team.id, blocked: true }, context));
  expect(outcomes).toEqual({
    ...Object.fromEntries(Object.keys(outcomes).map((who) => [who, "FORBIDDEN"])),
    anonymous: "UNAUTHORIZED",
    operator: "ok",
  });
  expect((await teams().getTeam({ id: platform.team.id }, platform.as("owner"))).team).toMatchObject({
    status: "blocked",
    blockedReason: "admin",
  });
  expect(await outcomeOf(teams().setTeamBlock({ id: "team_none", blocked: true }, platform.as("operator")))).toBe("NOT_FOUND");
});

test.each([
  ["lead", "member", "owner", "FORBIDDEN"],
  ["lead", "member", "admin", "ok"],
  ["lead", "owner", "member", "FORBIDDEN"],
  ["member", "member", "owner", "FORBIDDEN"],
  ["owner", "owner", "admin", "VALIDATION_ERROR"],
  ["owner", "stranger", "member", "NOT_FOUND"],
  ["owner", "member", "king", "VALIDATION_ERROR"],
] as const)("%s gives %s the role %s: %s", async (who, of, role, expected) => {
  expect(await outcomeOf(setRole(who, of, role))).toBe(expected);
});

test.each([
  ["member", "member", "ok"],
  ["member", "lead", "FORBIDDEN"],
  ["lead", "member", "ok"],
  ["lead", "owner", "FORBIDDEN"],
  ["owner", "owner", "VALIDATION_ERROR"],
  ["stranger", "member", "NOT_FOUND"],
] as const)("%s removes %s: %s", async (who, of, expected) => {
  expect(await outcomeOf(remove(who, of))).toBe(expected);
});

test("a removed member loses access at once, and their keys are disabled", async () => {
  const { apiKey } = await keysHandlers(platform.deps).createKey(
    { name: "k", teamId: platform.team.id, limits: undefined },
    platform.as("member"),
  );
  expect(await remove("owner", "member")).toEqual({ disabledKeys: [apiKey?.id] });
  expect(await outcomeOf(teams().getTeam({ id: platform.team.id }, platform.as("member")))).toBe("NOT_FOUND");
});

test("a removed admin who rotated the key of another loses it, too: the secret is known to that admin", async () => {
  const keys = keysHandlers(platform.deps);
  const { apiKey } = await keys.createKey({ name: "k", teamId: platform.team.id, limits: undefined }, platform.as("owner"));
  const reference = apiKey?.id ?? "";
  const rotate = async (who: "lead" | "owner") => (await keys.rotateKey({ reference, graceSeconds: 0 }, platform.as(who))).key;
  const isAdmitted = async (secret: string) =>
    (await callerOfHash(platform.deps, platform.deps.secrets.keyHash(secretSha256(secret)))) !== undefined;
  const known = await rotate("lead");
  expect(await isAdmitted(known)).toBe(true);
  expect(await remove("owner", "lead")).toEqual({ disabledKeys: [reference] });
  expect(await isAdmitted(known)).toBe(false);
  expect(await isAdmitted(await rotate("owner"))).toBe(true);
});

test("on an exposed deployment one address sends 100 invitations an hour; refused ones do not count", async () => {
  await platform.close();
  platform = await openPlatform({ TRUST_PROXY: "loopback" });
  expect(await outcomeOf(invite("stranger", "x@example.org"))).toBe("NOT_FOUND");
  for (let index = 0; index < 100; index++) await invite("owner", `invited-${index}@example.org`);
  expect(await outcomeOf(invite("owner", "one-more@example.org"))).toBe("RATE_LIMIT_EXCEEDED");
});

test("a manager invites to roles up to their own, a member to none", async () => {
  const asked = await Promise.all([invite("lead", "a@example.org", "owner"), invite("lead", "b@example.org", "admin")].map(outcomeOf));
  expect(asked).toEqual(["FORBIDDEN", "ok"]);
  expect(await outcomeOf(invite("member", "c@example.org"))).toBe("FORBIDDEN");
});

test("only who may give a role changes, replaces or removes an invitation to it", async () => {
  const { invitationLink } = await invite("owner", "boss@example.org", "owner");
  const { members } = await teams().getTeam({ id: platform.team.id }, platform.as("owner"));
  const memberId = members.find(({ email }) => email === "boss@example.org")?.memberId ?? "";
  const of = { teamId: platform.team.id, memberId };
  const outcomesFor = async (who: Who) => [
    await outcomeOf(invite(who, "boss@example.org")),
    await outcomeOf(teams().updateMember({ ...of, role: "admin" }, platform.as(who))),
    await outcomeOf(teams().removeMember(of, platform.as(who))),
  ];
  expect(await outcomesFor("lead")).toEqual(["FORBIDDEN", "FORBIDDEN", "FORBIDDEN"]);
  expect(await platform.deps.store.get("invitations", memberId)).toMatchObject({ role: "owner" });
  expect(tokenOf(invitationLink)).toContain(memberId);
  expect(await outcomesFor("owner")).toEqual(["ok", "ok", "ok"]);
});

test("an invitation is for one address, once, and for seven days", async () => {
  const token = tokenOf((await invite("owner", "stranger@example.org")).invitationLink);
  expect(await outcomeOf(teams().acceptInvitation({ token }, platform.as("operator")))).toBe("FORBIDDEN");
  expect(await outcomeOf(teams().acceptInvitation({ token: `${token}x` }, platform.as("stranger")))).toBe("NOT_FOUND");
  expect(await outcomeOf(teams().acceptInvitation({ token }, platform.as("stranger")))).toBe("ok");
  expect(await outcomeOf(teams().acceptInvitation({ token }, platform.as("stranger")))).toBe("NOT_FOUND");
  expect(await outcomeOf(teams().getTeam({ id: platform.team.id }, platform.as("stranger")))).toBe("ok");
  const late = tokenOf((await invite("owner", "operator@example.org")).invitationLink);
  await platform.advance(7 * 24 * 3_600_000);
  expect(await outcomeOf(teams().acceptInvitation({ token: late }, platform.as("operator")))).toBe("NOT_FOUND");
});

// The link of an invitation to an address of one's own would be a way back after access has ended.
describe("an invitation ends with the right of its inviter to give the role", () => {
  const accept = (token: string) => outcomeOf(teams().acceptInvitation({ token }, platform.as("stranger")));

  test("when the inviter is demoted in the team", async () => {
    const { invitationLink } = await invite("lead", "stranger@example.org", "admin");
    await setRole("owner", "lead", "member");
    expect(await accept(tokenOf(invitationLink))).toBe("NOT_FOUND");
  });

  test("when the inviter is demoted in the organization, though never in the team", async () => {
    const { invitationLink } = await invite("manager", "stranger@example.org", "admin");
    const { store } = platform.deps;
    const id = `${platform.organization.id}/${platform.users.manager.id}`;
    const member = await store.get("organizationMembers", id);
    await store.transaction("every", (tx) => tx.put("organizationMembers", { ...member, role: "member" } as never));
    expect(await accept(tokenOf(invitationLink))).toBe("NOT_FOUND");
  });

  test("when the inviter is disabled, for as long", async () => {
    const { invitationLink } = await invite("lead", "stranger@example.org");
    const { store } = platform.deps;
    const setDisabled = (disabledAt: number | undefined) =>
      store.transaction("every", async (tx) => {
        const { disabledAt: _, ...user } = (await tx.get("users", platform.users.lead.id)) as never as { disabledAt?: number; id: number };
        await tx.put("users", { ...user, ...(disabledAt === undefined ? {} : { disabledAt }) } as never);
      });
    await setDisabled(1);
    expect(await accept(tokenOf(invitationLink))).toBe("NOT_FOUND");
    await setDisabled(undefined);
    expect(await accept(tokenOf(invitationLink))).toBe("ok");
  });

  test("but counts on when somebody else gave its role since", async () => {
    const { invitationLink } = await invite("lead", "stranger@example.org");
    const { members } = await teams().getTeam({ id: platform.team.id }, platform.as("owner"));
    const memberId = members.find(({ email }) => email === "stranger@example.org")?.memberId ?? "";
    await teams().updateMember({ teamId: platform.team.id, memberId, role: "admin" }, platform.as("owner"));
    await setRole("owner", "lead", "member");
    expect(await accept(tokenOf(invitationLink))).toBe("ok");
  });
});
