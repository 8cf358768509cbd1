import { call, joinTeam, newTenant, type Tenant } from "../helpers/api.ts";
import { type System, startSystem } from "../helpers/system.ts";
import * as records from "./records.ts";
import { type Ask, expectError } from "./support.ts";

let system: System;
let tenant: Tenant;
let ask: Ask;

beforeAll(async () => {
  system = await startSystem();
  tenant = await newTenant(system);
  ask = (method, path, options) => call(system.url, method, path, options);
});
afterAll(() => system.stop());

let counter = 0;
const newTeam = async (owner: Tenant = tenant): Promise<string> => {
  const answer = await ask("POST", "/api/gw/teams", { token: owner.token, body: { name: `team ${counter++}` } });
  return answer.body.team.id;
};
const invite = (token: string, teamId: string, email: string, role?: string) =>
  ask("POST", "/api/gw/teams/invite-member", { token, body: { teamId, teamName: "as shown", email, ...(role ? { role } : {}) } });
const join = (teamId: string, guest: Tenant, role?: string) => joinTeam(system, { from: tenant, guest, teamId, ...(role ? { role } : {}) });
const remove = (token: string, teamId: string, memberId: string | number) =>
  ask("POST", "/api/gw/teams/remove-member", { token, body: { teamId, memberId } });
const setRole = (token: string, teamId: string, memberId: string | number, role: string) =>
  ask("POST", "/api/gw/teams/update-member", { token, body: { teamId, memberId, role } });
const teamOf = async (token: string, id: string) => (await ask("GET", `/api/gw/teams/${id}`, { token })).body.team;
const activate = (token: string, id: string) => ask("PUT", "/api/gw/organizations", { token, body: { id, active: true } });

describe("teams", () => {
  test("a team is made with 201, listed, and shown with its members and keys", async () => {
    const made = await ask("POST", "/api/gw/teams", { token: tenant.token, body: { name: "  Research  " } });
    expect(made.status).toBe(201);
    records.expectShape(records.team, made.body.team);
    expect(made.body.team).toMatchObject({
      name: "Research",
      organizationId: tenant.organizationId,
      memberCount: 1,
      keyCount: 0,
      spend: 0,
    });
    const { id } = made.body.team;
    await ask("POST", "/api/gw/api-keys", { token: tenant.token, body: { name: "k", team_id: id } });
    const detail = await teamOf(tenant.token, id);
    records.expectShape(records.team, detail);
    for (const member of detail.members) records.expectShape(records.teamMember, member);
    for (const key of detail.apiKeys) records.expectShape(records.apiKey, key);
    expect(detail).toMatchObject({ memberCount: 1, keyCount: 1 });
    expect(detail.members).toEqual([
      expect.objectContaining({ memberId: tenant.userId, userId: tenant.userId, email: tenant.email, role: "owner", status: "active" }),
    ]);
    const listed = await ask("GET", "/api/gw/teams?search=resea", { token: tenant.token });
    records.expectShape(records.listOf(records.team), listed.body);
    expect(listed.body.data.map((team: { id: string }) => team.id)).toEqual([id]);
  });

  test("a name is unique in the organization in any case of letters, and free in another one", async () => {
    await ask("POST", "/api/gw/teams", { token: tenant.token, body: { name: "Taken" } });
    expectError(await ask("POST", "/api/gw/teams", { token: tenant.token, body: { name: "tAkEn" } }), 409, "VALIDATION_ERROR", "name");
    const other = await newTenant(system);
    expect((await ask("POST", "/api/gw/teams", { token: other.token, body: { name: "Taken" } })).status).toBe(201);
    const raced = await Promise.all([1, 2, 3].map(() => ask("POST", "/api/gw/teams", { token: tenant.token, body: { name: "Raced" } })));
    expect(raced.map(({ status }) => status).sort()).toEqual([201, 409, 409]);
  });

  test.each([[""], ["   "], ["x".repeat(101)], [7], [null], [["a"]]])("the name %p is 400", async (name) => {
    expectError(await ask("POST", "/api/gw/teams", { token: tenant.token, body: { name } }), 400, "VALIDATION_ERROR", "name");
  });

  test("a team that is not there is 404", async () => {
    expectError(await ask("GET", "/api/gw/teams/team_nothing", { token: tenant.token }), 404, "NOT_FOUND");
    const change = { token: tenant.token, body: { name: "x" } };
    expectError(await ask("PATCH", "/api/gw/teams/team_nothing", change), 404, "NOT_FOUND");
  });

  test("models and limits of a team are set and taken away", async () => {
    const id = await newTeam();
    const change = (body: object) => ask("PATCH", `/api/gw/teams/${id}`, { token: tenant.token, body });
    expect((await change({ models: ["echo"], rpm: 5, tpm: 100 })).body.team).toMatchObject({ models: ["echo"], rpm: 5, tpm: 100 });
    expect((await change({ rpm: null })).body.team).toMatchObject({ models: ["echo"], rpm: null, tpm: 100 });
    expect((await change({ models: null, tpm: null })).body.team).toMatchObject({ models: null, rpm: null, tpm: null });
    expectError(await change({ rpm: 0 }), 400, "VALIDATION_ERROR", "rpm");
    expectError(await change({ name: "Default" }), 409, "VALIDATION_ERROR", "name");
  });
});

describe("invitations", () => {
  test("an invitation grants at most the inviter's own role, and a member invites no one", async () => {
    const teamId = await newTeam();
    const [teamAdmin, member, other] = [await newTenant(system), await newTenant(system), await newTenant(system)];
    await join(teamId, teamAdmin, "admin");
    await join(teamId, member, "member");
    expectError(await invite(member.token, teamId, other.email), 403, "FORBIDDEN");
    expectError(await invite(teamAdmin.token, teamId, other.email, "owner"), 403, "FORBIDDEN");
    expect((await invite(teamAdmin.token, teamId, other.email, "admin")).status).toBe(201);
    expectError(await ask("PATCH", `/api/gw/teams/${teamId}`, { token: member.token, body: { name: "mine" } }), 403, "FORBIDDEN");
    expectError(await remove(member.token, teamId, other.userId), 403, "FORBIDDEN");
    expectError(await remove(teamAdmin.token, teamId, tenant.userId), 403, "FORBIDDEN");
  });

  test.each([
    ["email", { email: "no address" }],
    ["role", { role: "king" }],
    ["teamId", { teamId: undefined }],
  ])("a wrong %s is 400", async (path, wrong) => {
    const body = { teamId: tenant.teamId, teamName: "x", email: "x@example.org", role: "member", ...wrong };
    expectError(await ask("POST", "/api/gw/teams/invite-member", { token: tenant.token, body }), 400, "VALIDATION_ERROR", path);
  });

  test("both spellings of the team's id are taken", async () => {
    const body = { team_id: tenant.teamId, team_name: "x", email: "spelled@example.org", role: "member" };
    expect((await ask("POST", "/api/gw/teams/invite-member", { token: tenant.token, body })).status).toBe(201);
  });
});

describe("roles", () => {
  test("a member's role and an invitation's are changed, and work as the new one", async () => {
    const [teamId, guest, other] = [await newTeam(), await newTenant(system), await newTenant(system)];
    await join(teamId, guest, "member");
    expectError(await invite(guest.token, teamId, other.email), 403, "FORBIDDEN");
    const answer = await setRole(tenant.token, teamId, guest.userId, "admin");
    records.expectShape(records.teamMember, answer.body.member);
    expect([answer.status, answer.body.member.role]).toEqual([200, "admin"]);
    expect((await invite(guest.token, teamId, other.email)).status).toBe(201);
    const { member } = (await invite(tenant.token, teamId, `waits-${Date.now()}@example.org`)).body;
    expect((await setRole(tenant.token, teamId, member.memberId, "owner")).body.member).toMatchObject({ role: "owner", status: "invited" });
  });

  test("no one grants a role above their own, an admin demotes no owner, and the last owner stays one", async () => {
    const [teamId, guest] = [await newTeam(), await newTenant(system)];
    await join(teamId, guest, "admin");
    expectError(await setRole(guest.token, teamId, guest.userId, "owner"), 403, "FORBIDDEN");
    expectError(await setRole(guest.token, teamId, tenant.userId, "member"), 403, "FORBIDDEN");
    expectError(await setRole(tenant.token, teamId, tenant.userId, "admin"), 400, "VALIDATION_ERROR");
    expectError(await setRole(tenant.token, teamId, guest.userId, "king"), 400, "VALIDATION_ERROR", "role");
    expectError(await setRole(tenant.token, teamId, 999_999, "member"), 404, "NOT_FOUND");
    await setRole(tenant.token, teamId, guest.userId, "owner");
    expect((await setRole(guest.token, teamId, tenant.userId, "member")).status).toBe(200);
    // The user still owns the organization, and manages its teams by that.
    expect((await teamOf(tenant.token, teamId)).members).toContainEqual(expect.objectContaining({ userId: tenant.userId, role: "member" }));
  });
});

describe("leaving", () => {
  test("a removed member loses the team and the organization at once; repeated it is 404", async () => {
    const [teamId, guest] = [await newTeam(), await newTenant(system)];
    await join(teamId, guest);
    await activate(guest.token, tenant.organizationId);
    expect((await ask("GET", `/api/gw/teams/${teamId}`, { token: guest.token })).status).toBe(200);
    const answer = await remove(tenant.token, teamId, guest.userId);
    expect([answer.status, answer.body]).toEqual([200, { removed: true, teamId, memberId: guest.userId, disabledKeys: [] }]);
    expectError(await ask("GET", `/api/gw/teams/${teamId}`, { token: guest.token }), 404, "NOT_FOUND");
    expect((await ask("GET", "/api/auth/me", { token: guest.token })).body.organization.id).toBe(guest.organizationId);
    expect((await ask("GET", "/api/gw/organizations/list", { token: guest.token })).body.meta.total).toBe(1);
    expectError(await remove(tenant.token, teamId, guest.userId), 404, "NOT_FOUND");
  });

  test("the last owner cannot be removed, not even by their own request; with a second owner this works", async () => {
    const [teamId, second] = [await newTeam(), await newTenant(system)];
    expectError(await remove(tenant.token, teamId, tenant.userId), 400, "VALIDATION_ERROR");
    await join(teamId, second, "owner");
    expect((await remove(second.token, teamId, tenant.userId)).status).toBe(200);
    expectError(await remove(second.token, teamId, second.userId), 400, "VALIDATION_ERROR");
  });

  test("two owners who remove each other at once leave one", async () => {
    const [teamId, second] = [await newTeam(), await newTenant(system)];
    await join(teamId, second, "owner");
    await Promise.all([remove(tenant.token, teamId, second.userId), remove(second.token, teamId, tenant.userId)]);
    const { members } = await teamOf(tenant.token, teamId);
    expect(members.filter(({ role }: { role: string }) => role === "owner")).toHaveLength(1);
  });

  test("members may leave on their own; the id may be a number or a string", async () => {
    const [teamId, guest] = [await newTeam(), await newTenant(system)];
    await join(teamId, guest);
    expect((await remove(guest.token, teamId, String(guest.userId))).status).toBe(200);
  });
});

describe("organizations", () => {
  test("an update changes what it names and nothing else", async () => {
    const { token, organizationId } = tenant;
    const before = (await ask("GET", "/api/auth/me", { token })).body.organization;
    const renamed = await ask("PUT", "/api/gw/organizations", { token, body: { name: "Renamed" } });
    expect(renamed.status).toBe(200);
    records.expectShape(records.organization, renamed.body.organization);
    expect(renamed.body.organization).toEqual({ ...before, name: "Renamed", updatedAt: expect.any(String) });
    const zoned = await ask("PUT", "/api/gw/organizations", { token, body: { id: organizationId, timezone: "Asia/Tokyo" } });
    expect(zoned.body.organization).toMatchObject({ name: "Renamed", timezone: "Asia/Tokyo" });
    const low = await ask("PUT", "/api/gw/organizations", { token, body: { lowBalanceThreshold: 500 } });
    expect(low.status).toBe(200);
    expect((await ask("GET", "/api/quota", { token })).body.quota.lowBalanceThreshold).toBe(500);
    await ask("PUT", "/api/gw/organizations", { token, body: { low_balance_threshold: null } });
    expect((await ask("GET", "/api/quota", { token })).body.quota.lowBalanceThreshold).toBeNull();
  });

  test.each([
    ["timezone", { timezone: "Mars/Olympus" }],
    ["name", { name: "" }],
    ["lowBalanceThreshold", { lowBalanceThreshold: -1 }],
    ["active", { active: "yes" }],
  ])("a wrong %s is 400", async (path, body) => {
    expectError(await ask("PUT", "/api/gw/organizations", { token: tenant.token, body }), 400, "VALIDATION_ERROR", path);
  });

  test("the active organization is the session's: lists and credits follow it, other sessions stay", async () => {
    const guest = await newTenant(system);
    const { body: session } = await ask("POST", "/api/auth/token", { body: { email: guest.email, password: guest.password } });
    await join(tenant.teamId, guest);
    const switched = await activate(guest.token, tenant.organizationId);
    expect(switched.body.organization).toMatchObject({ id: tenant.organizationId, isActive: true, role: "member" });
    expect((await ask("GET", "/api/balance", { token: guest.token })).body.organizationId).toBe(tenant.organizationId);
    expect((await ask("GET", "/api/gw/teams", { token: guest.token })).body.data.map(({ id }: { id: string }) => id)).toEqual([
      tenant.teamId,
    ]);
    expect((await ask("GET", "/api/balance", { token: session.token })).body.organizationId).toBe(guest.organizationId);
    const fresh = await ask("POST", "/api/auth/token/refresh", { token: guest.token });
    expect((await ask("GET", "/api/auth/me", { token: fresh.body.token })).body.organization.id).toBe(tenant.organizationId);
  });

  test("a plain member changes neither the organization nor its credits nor its teams", async () => {
    const guest = await newTenant(system);
    await join(tenant.teamId, guest);
    await activate(guest.token, tenant.organizationId);
    const { token } = guest;
    expectError(await ask("PUT", "/api/gw/organizations", { token, body: { name: "Taken over" } }), 403, "FORBIDDEN");
    expectError(await ask("POST", "/api/gw/teams", { token, body: { name: "Taken over" } }), 403, "FORBIDDEN");
    expectError(await ask("POST", "/api/credits/purchase", { token, body: { amount: 5 } }), 403, "FORBIDDEN");
  });

  test("an organization that is not there is 404", async () => {
    expectError(await activate(tenant.token, "org_nothing"), 404, "NOT_FOUND");
  });
});
