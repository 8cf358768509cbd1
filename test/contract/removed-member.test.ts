import { adminToken, call, chat, joinTeam, newTenant, type Tenant } from "../helpers/api.ts";
import { type System, startSystem } from "../helpers/system.ts";
import { type Ask, expectError, expectGatewayError } from "./support.ts";

// Each connection goes to one of the two edges: eight at once reach both.
const AT_ONCE = 8;
const WITHIN_MS = 1000;

let system: System;
let owner: Tenant;
let ask: Ask;
beforeAll(async () => {
  system = await startSystem({ edges: 2 });
  owner = await newTenant(system, { creditNano: 1_000_000_000 });
  ask = (method, path, options) => call(system.url, method, path, options);
});
afterAll(() => system.stop());

const makeKey = async (token: string, teamId: string): Promise<{ id: string; secret: string }> => {
  const { body } = await ask("POST", "/api/gw/api-keys", { token, body: { name: "made by a member", team_id: teamId } });
  return { id: body.apiKey.id, secret: body.key };
};
const remove = (teamId: string, memberId: string | number, token = owner.token) =>
  ask("POST", "/api/gw/teams/remove-member", { token, body: { teamId, memberId } });
const statuses = async (secret: string) =>
  (await Promise.all(Array.from({ length: AT_ONCE }, () => chat(system, secret, "hello")))).map(({ status }) => status);
const all = (status: number) => new Array(AT_ONCE).fill(status);

test("the keys that a removed member made in the team are refused by every edge within a second; all others work on", async () => {
  const guest = await newTenant(system);
  const second = (await ask("POST", "/api/gw/teams", { token: owner.token, body: { name: "second" } })).body.team.id;
  await joinTeam(system, { from: owner, guest, teamId: owner.teamId });
  await joinTeam(system, { from: owner, guest, teamId: second });
  const keys = [await makeKey(guest.token, owner.teamId), await makeKey(guest.token, owner.teamId)];
  const elsewhere = await makeKey(guest.token, second);
  for (const { secret } of [...keys, elsewhere]) expect(await statuses(secret)).toEqual(all(200));

  const answer = await remove(owner.teamId, guest.userId);
  const removedAt = Date.now();
  expect(answer.status).toBe(200);
  expect([...answer.body.disabledKeys].sort()).toEqual(keys.map(({ id }) => id).sort());
  for (const { secret } of keys) while ((await statuses(secret)).includes(200)) expect(Date.now() - removedAt).toBeLessThan(WITHIN_MS);
  for (const { secret } of keys) expectGatewayError(await chat(system, secret, "no"), 401, "authentication_error", "invalid_api_key");
  expect(await statuses(owner.key)).toEqual(all(200));
  expect(await statuses(elsewhere.secret)).toEqual(all(200));

  const listed = await ask("GET", `/api/api-keys?status=blocked&team_id=${owner.teamId}`, { token: owner.token });
  expect(listed.body.data.map(({ id }: { id: string }) => id).sort()).toEqual(keys.map(({ id }) => id).sort());
  expectError(await ask("POST", "/api/api-keys/rotate", { token: guest.token, body: { apiKey: keys[0]?.id } }), 404, "NOT_FOUND");
});

test("a disabled user's sessions and keys are refused by every edge within a second, and enabling gives back all but the sessions", async () => {
  const token = await adminToken(system);
  const user = await newTenant(system, { creditNano: 1_000_000_000 });
  const setAccess = (change: "disable" | "enable") =>
    ask("POST", `/api/admin/users/${user.userId}/${change}`, { token, body: { reason: "left" } });
  const login = () => ask("POST", "/api/auth/token", { body: { email: user.email, password: user.password } });
  const balance = async () => {
    const found = await ask("GET", `/api/admin/organizations?search=${user.organizationId}`, { token });
    return found.body.data[0].balance;
  };
  expect(await statuses(user.key)).toEqual(all(200));
  const before = await balance();

  const answer = await setAccess("disable");
  const disabledAt = Date.now();
  expect([answer.status, answer.body]).toMatchObject([
    200,
    { user: { status: "disabled", disabledAt: expect.any(String) }, sessions: 1, keys: 1 },
  ]);
  while ((await statuses(user.key)).includes(200)) expect(Date.now() - disabledAt).toBeLessThan(WITHIN_MS);
  expect(await statuses(user.key)).toEqual(all(401));
  expectError(await ask("GET", "/api/auth/me", { token: user.token }), 401, "UNAUTHORIZED");
  expectError(await ask("POST", "/api/auth/token/refresh", { token: user.token }), 401, "UNAUTHORIZED");
  expectError(await login(), 403, "FORBIDDEN");
  expectError(await ask("POST", "/api/auth/token", { body: { email: user.email, password: "not the password" } }), 401, "UNAUTHORIZED");
  expect(await balance()).toBeLessThanOrEqual(before);

  expect((await setAccess("enable")).body).toMatchObject({ user: { status: "active", disabledAt: null }, keys: 1 });
  const enabledAt = Date.now();
  while ((await statuses(user.key)).includes(401)) expect(Date.now() - enabledAt).toBeLessThan(2 * WITHIN_MS);
  expectError(await ask("GET", "/api/auth/me", { token: user.token }), 401, "UNAUTHORIZED");
  expect((await login()).status).toBe(200);
});

test("a manager of the team puts such a key to work again by rotating it, and the old secret gets no grace", async () => {
  const guest = await newTenant(system);
  await joinTeam(system, { from: owner, guest, teamId: owner.teamId });
  const key = await makeKey(guest.token, owner.teamId);
  await remove(owner.teamId, guest.userId);
  const renamed = await ask("POST", "/api/api-keys/update", { token: owner.token, body: { apiKey: key.id, name: "renamed" } });
  expect(renamed.body.apiKey.status).toBe("blocked");
  const rotated = await ask("POST", "/api/api-keys/rotate", { token: owner.token, body: { apiKey: key.id, graceSeconds: 3600 } });
  expect(rotated.body.apiKey.status).toBe("active");
  expect(await statuses(rotated.body.key)).toEqual(all(200));
  expect(await statuses(key.secret)).toEqual(all(401));
});

test("a member who leaves loses the keys made there too, also when the same person joins again; an invitation has none", async () => {
  const guest = await newTenant(system);
  await joinTeam(system, { from: owner, guest, teamId: owner.teamId });
  const key = await makeKey(guest.token, owner.teamId);
  expect((await remove(owner.teamId, guest.userId, guest.token)).body.disabledKeys).toEqual([key.id]);
  await joinTeam(system, { from: owner, guest, teamId: owner.teamId });
  expect(await statuses(key.secret)).toEqual(all(401));
  const pending = await ask("POST", "/api/gw/teams/invite-member", {
    token: owner.token,
    body: { teamId: owner.teamId, email: "pending@example.org", role: "member" },
  });
  expect((await remove(owner.teamId, pending.body.member.memberId)).body.disabledKeys).toEqual([]);
});
