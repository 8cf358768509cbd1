import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Answer, call, inviteToken, joinTeam, newTenant, type Tenant } from "../helpers/api.ts";
import { type System, startSystem } from "../helpers/system.ts";
import * as records from "./records.ts";
import { type Ask, expectError } from "./support.ts";

const WEEK_MS = 7 * 24 * 3_600_000;
const PASSWORD = "a good long password";

let system: System;
let tenant: Tenant;
let ask: Ask;

beforeAll(async () => {
  system = await startSystem();
  tenant = await newTenant(system, { creditNano: 1_000_000_000 });
  ask = (method, path, options) => call(system.url, method, path, options);
});
afterAll(() => system.stop());

let counter = 0;
const freshEmail = () => `address-${process.pid}-${Date.now()}-${counter++}@example.org`;
const newTeam = async (): Promise<string> =>
  (await ask("POST", "/api/gw/teams", { token: tenant.token, body: { name: `team ${counter++}` } })).body.team.id;
const invite = (teamId: string, email: string, role = "member") =>
  ask("POST", "/api/gw/teams/invite-member", { token: tenant.token, body: { teamId, email, role } });
const remove = (teamId: string, memberId: string | number, token = tenant.token) =>
  ask("POST", "/api/gw/teams/remove-member", { token, body: { teamId, memberId } });
const accept = (token: string, who: Pick<Tenant, "token">) => ask("POST", "/api/invitations/accept", { token: who.token, body: { token } });
const signUp = (email: string, inviteToken?: string) =>
  ask("POST", "/api/auth/signup", { body: { email, password: PASSWORD, ...(inviteToken === undefined ? {} : { inviteToken }) } });
const mine = async (who: Pick<Tenant, "token">) => (await ask("GET", "/api/invitations", { token: who.token })).body.data;
const teamOf = (teamId: string, token = tenant.token) => ask("GET", `/api/gw/teams/${teamId}`, { token });
const changed = (text: string) => text.slice(0, -1) + (text.endsWith("A") ? "B" : "A");

describe("inviting", () => {
  test("an address with an account and one without get the same answer: an invitation, a link, and no name or user id", async () => {
    const [teamId, guest, unknown] = [await newTeam(), await newTenant(system), freshEmail()];
    const withoutOwn = ({ status, body }: Answer) => {
      const member = { ...body.member, memberId: typeof body.member.memberId, email: "", invitedAt: "" };
      return { status, body: { ...body, inviteUrl: typeof body.inviteUrl, expiresAt: typeof body.expiresAt, member } };
    };
    const known = await invite(teamId, guest.email.toUpperCase(), "admin");
    const other = await invite(teamId, unknown, "admin");
    records.expectShape(records.teamMember, known.body.member);
    expect(known.status).toBe(201);
    expect(withoutOwn(known)).toEqual(withoutOwn(other));
    expect(known.body.member).toMatchObject({ userId: null, name: null, email: guest.email, status: "invited", joinedAt: null });
    const lifeMs = Date.parse(known.body.expiresAt) - Date.parse(known.body.member.invitedAt);
    expect(lifeMs).toBe(WEEK_MS);
    expect(new URL(known.body.inviteUrl).pathname).toBe("/ui/invite");
    expect(inviteToken(known).length).toBeGreaterThanOrEqual(43);
    // Until it is accepted the person is in nothing.
    expectError(await teamOf(teamId, guest.token), 404, "NOT_FOUND");
    expect((await ask("GET", "/api/gw/organizations/list", { token: guest.token })).body.meta.total).toBe(1);
    expect((await teamOf(teamId)).body.team).toMatchObject({ memberCount: 1 });
    expect((await teamOf(teamId)).text).not.toContain(inviteToken(known));
  });

  test("a person who belongs to the organization joins the team at once, and asked again it is 200", async () => {
    const [teamId, guest] = [await newTeam(), await newTenant(system)];
    await joinTeam(system, { from: tenant, guest, teamId: tenant.teamId });
    const first = await invite(teamId, guest.email, "admin");
    expect([first.status, first.body.inviteUrl, first.body.expiresAt]).toEqual([201, null, null]);
    expect(first.body.member).toMatchObject({ memberId: guest.userId, userId: guest.userId, role: "admin", status: "active" });
    const again = await invite(teamId, guest.email, "admin");
    expect([again.status, again.body.member]).toEqual([200, first.body.member]);
    expect((await teamOf(teamId, guest.token)).status).toBe(200);
  });

  test("invited again, the answer is 200 with a fresh link, and the link before it has ended", async () => {
    const [teamId, guest] = [await newTeam(), await newTenant(system)];
    const first = await invite(teamId, guest.email);
    const second = await invite(teamId, guest.email, "admin");
    expect([second.status, second.body.member.memberId]).toEqual([200, first.body.member.memberId]);
    expect(inviteToken(second)).not.toBe(inviteToken(first));
    expectError(await accept(inviteToken(first), guest), 404, "NOT_FOUND");
    expect((await accept(inviteToken(second), guest)).body.member).toMatchObject({ userId: guest.userId, role: "admin" });
  });

  test("an invited address that joined the organization by another team joins this one at once, and its link has ended", async () => {
    const [first, second, guest] = [await newTeam(), await newTeam(), await newTenant(system)];
    const pending = await invite(first, guest.email, "owner");
    await joinTeam(system, { from: tenant, guest, teamId: second });
    expect((await invite(first, guest.email)).body.member).toMatchObject({ userId: guest.userId, role: "member", status: "active" });
    expectError(await accept(inviteToken(pending), guest), 404, "NOT_FOUND");
    expect((await teamOf(first)).body.team.members).toHaveLength(2);
  });
});

describe("accepting", () => {
  test("the invited account joins team and organization with the token, once; its own organization stays the active one", async () => {
    const [teamId, guest] = [await newTeam(), await newTenant(system)];
    const token = inviteToken(await invite(teamId, guest.email, "admin"));
    const answer = await accept(token, guest);
    expect(answer.status).toBe(200);
    records.expectShape(records.teamMember, answer.body.member);
    records.expectShape(records.team, answer.body.team);
    records.expectShape(records.organization, answer.body.organization);
    expect(answer.body.member).toMatchObject({ memberId: guest.userId, email: guest.email, role: "admin", status: "active" });
    expect(answer.body.team.id).toBe(teamId);
    expect(answer.body.organization).toMatchObject({ id: tenant.organizationId, role: "member", isActive: false });
    expect((await teamOf(teamId, guest.token)).body.team.members).toHaveLength(2);
    const organizations = await ask("GET", "/api/gw/organizations/list", { token: guest.token });
    expect(organizations.body.data.map(({ id }: { id: string }) => id).sort()).toEqual(
      [guest.organizationId, tenant.organizationId].sort(),
    );
    expectError(await accept(token, guest), 404, "NOT_FOUND");
    await remove(teamId, guest.userId);
    expectError(await accept(token, guest), 404, "NOT_FOUND");
  });

  test("of many acceptances at once one counts", async () => {
    const [teamId, guest] = [await newTeam(), await newTenant(system)];
    const token = inviteToken(await invite(teamId, guest.email));
    const answers = await Promise.all(Array.from({ length: 8 }, () => accept(token, guest)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array.from({ length: 7 }, () => 404)]);
    expect((await teamOf(teamId)).body.team.members).toHaveLength(2);
  });

  test("another account is refused with 403 and uses nothing up; a changed, empty or withdrawn token is refused", async () => {
    const [teamId, guest, thief] = [await newTeam(), await newTenant(system), await newTenant(system)];
    const invited = await invite(teamId, guest.email, "owner");
    const token = inviteToken(invited);
    expectError(await accept(token, thief), 403, "FORBIDDEN");
    expectError(await teamOf(teamId, thief.token), 404, "NOT_FOUND");
    expectError(await accept(changed(token), guest), 404, "NOT_FOUND");
    expectError(await accept(invited.body.member.memberId, guest), 404, "NOT_FOUND");
    expectError(await accept(`${invited.body.member.memberId}.`, guest), 404, "NOT_FOUND");
    expectError(await accept("", guest), 400, "VALIDATION_ERROR", "token");
    expectError(await ask("POST", "/api/invitations/accept", { body: { token } }), 401, "UNAUTHORIZED");
    await remove(teamId, invited.body.member.memberId);
    expectError(await accept(token, guest), 404, "NOT_FOUND");
  });

  test("one's own invitations are listed with organization, team, role and end, without the token, until they are accepted", async () => {
    const [teamId, guest, other] = [await newTeam(), await newTenant(system), await newTenant(system)];
    expect(await mine(guest)).toEqual([]);
    const invited = await invite(teamId, guest.email, "admin");
    const listed = await ask("GET", "/api/invitations", { token: guest.token });
    records.expectShape(records.listOf(records.invitation), listed.body);
    expect(listed.body.data).toEqual([
      {
        id: invited.body.member.memberId,
        email: guest.email,
        role: "admin",
        teamId,
        teamName: (await teamOf(teamId)).body.team.name,
        organizationId: tenant.organizationId,
        organizationName: expect.any(String),
        invitedAt: invited.body.member.invitedAt,
        expiresAt: invited.body.expiresAt,
      },
    ]);
    expect(await mine(other)).toEqual([]);
    expectError(await ask("GET", "/api/invitations"), 401, "UNAUTHORIZED");
    await accept(inviteToken(invited), guest);
    expect(await mine(guest)).toEqual([]);
  });
});

describe("signing up", () => {
  test("with the invited address but without the token joins nothing", async () => {
    const [teamId, email] = [await newTeam(), freshEmail()];
    await invite(teamId, email, "owner");
    const signup = await signUp(email);
    expect(signup.status).toBe(201);
    expectError(await teamOf(teamId, signup.body.token), 404, "NOT_FOUND");
    expectError(
      await ask("POST", "/api/gw/api-keys", { token: signup.body.token, body: { name: "k", team_id: teamId } }),
      404,
      "NOT_FOUND",
    );
    expect((await teamOf(teamId)).body.team.members).toContainEqual(expect.objectContaining({ email, status: "invited", userId: null }));
    expect(await mine({ token: signup.body.token })).toHaveLength(1);
  });

  test("with the token joins the team, and the organization of the account's own is the active one", async () => {
    const [teamId, email] = [await newTeam(), freshEmail()];
    const token = inviteToken(await invite(teamId, email, "admin"));
    const signup = await signUp(email, token);
    expect(signup.status).toBe(201);
    const { members } = (await teamOf(teamId)).body.team;
    expect(members).toContainEqual(expect.objectContaining({ memberId: signup.body.user.id, email, role: "admin", status: "active" }));
    expect((await teamOf(teamId, signup.body.token)).status).toBe(200);
    expect(signup.body.organization.isActive).toBe(true);
    expectError(await signUp(freshEmail(), token), 404, "NOT_FOUND");
  });

  test("with another's token or a wrong one makes no account", async () => {
    const [teamId, email, stranger] = [await newTeam(), freshEmail(), freshEmail()];
    const token = inviteToken(await invite(teamId, email));
    expectError(await signUp(stranger, token), 403, "FORBIDDEN");
    expectError(await signUp(email, changed(token)), 404, "NOT_FOUND");
    const login = (address: string) => ask("POST", "/api/auth/token", { body: { email: address, password: PASSWORD } });
    expectError(await login(stranger), 401, "UNAUTHORIZED");
    expectError(await login(email), 401, "UNAUTHORIZED");
    expect((await signUp(email, token)).status).toBe(201);
  });
});

test("the links that a removed member made have ended", async () => {
  const [teamId, manager, email] = [await newTeam(), await newTenant(system), freshEmail()];
  await joinTeam(system, { from: tenant, guest: manager, teamId, role: "admin" });
  const body = { teamId, email, role: "admin" };
  const token = inviteToken(await ask("POST", "/api/gw/teams/invite-member", { token: manager.token, body }));
  await remove(teamId, manager.userId);
  expectError(await signUp(email, token), 404, "NOT_FOUND");
  expect((await teamOf(teamId)).body.team.members).toHaveLength(1);
});

test("the secret of a link is in no log and, in clear, in no file", async () => {
  const [teamId, guest] = [await newTeam(), await newTenant(system)];
  const token = inviteToken(await invite(teamId, guest.email));
  const secret = token.split(".").at(-1) ?? "";
  expect(secret.length).toBeGreaterThanOrEqual(43);
  const files = readdirSync(system.folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const holding = (text: string) => files.filter(({ parentPath, name }) => readFileSync(join(parentPath, name)).includes(text));
  expect(holding(guest.email)).not.toEqual([]);
  expect(holding(secret)).toEqual([]);
  expect(system.logs()).not.toContain(secret);
  expect((await accept(token, guest)).status).toBe(200);
});
