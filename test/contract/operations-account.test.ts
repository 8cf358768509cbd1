import { setTimeout as sleep } from "node:timers/promises";
import { adminToken, call, newTenant, type Tenant } from "../helpers/api.ts";
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

const logIn = (email: string, password: string) => ask("POST", "/api/auth/token", { body: { email, password } });
const me = (token: string) => ask("GET", "/api/auth/me", { token });

describe("sign-up", () => {
  test.each(["/api/auth/signup", "/api/auth/register"])("%s makes a user, an organization, a team and a token that works", async (path) => {
    const email = `New.Person.${path.length}@Example.org`;
    const answer = await ask("POST", path, { body: { email, password: "long enough", name: "New Person" } });
    expect(answer.status).toBe(201);
    records.expectShape(records.user, answer.body.user);
    records.expectShape(records.organization, answer.body.organization);
    records.expectShape(records.team, answer.body.team);
    records.expectShape(records.time, answer.body.expiresAt);
    expect(answer.body.user).toMatchObject({ email: email.toLowerCase(), name: "New Person", role: "user", lastLoginAt: null });
    expect(answer.body.organization).toMatchObject({
      ownerId: answer.body.user.id,
      role: "owner",
      isActive: true,
      balance: 0,
      balanceUsd: "0.00",
      status: "active",
      memberCount: 1,
      teamCount: 1,
    });
    expect(answer.body.team).toMatchObject({
      organizationId: answer.body.organization.id,
      status: "active",
      blockedReason: null,
      blockedAt: null,
      memberCount: 1,
      keyCount: 0,
      models: null,
      rpm: null,
      tpm: null,
      spend: 0,
    });
    expect((await me(answer.body.token)).status).toBe(200);
    expect(answer.text).not.toContain("long enough");
  });

  test("an address that is taken, in any case of letters, is 409", async () => {
    const answer = await ask("POST", "/api/auth/signup", { body: { email: tenant.email.toUpperCase(), password: "long enough" } });
    expectError(answer, 409, "VALIDATION_ERROR", "email");
  });

  test("two sign-ups of one address at once make one account", async () => {
    const body = { email: "raced@example.org", password: "long enough" };
    const answers = await Promise.all([1, 2, 3].map(() => ask("POST", "/api/auth/signup", { body })));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409]);
  });

  test.each([
    ["email", { email: "no address", password: "long enough" }],
    ["email", { password: "long enough" }],
    ["password", { email: "x@example.org", password: "short" }],
    ["password", { email: "x@example.org", password: "x".repeat(257) }],
    ["password", { email: "x@example.org", password: "12345678" }],
    ["password", { email: "x@example.org", password: "PassWord1" }],
    ["password", { email: "somebody@example.org", password: "Somebody@example.org" }],
    ["name", { email: "x@example.org", password: "long enough", name: "x".repeat(101) }],
  ])("a wrong %s is 400 and named", async (path, body) => {
    expectError(await ask("POST", "/api/auth/signup", { body }), 400, "VALIDATION_ERROR", path);
  });
});

describe("tokens", () => {
  test("a log-in answers {token, expiresAt} for one hour, by an allow-listed algorithm, and is remembered", async () => {
    const answer = await logIn(tenant.email.toUpperCase(), tenant.password);
    expect(answer.status).toBe(200);
    expect(Object.keys(answer.body).sort()).toEqual(["expiresAt", "token"]);
    records.expectShape(records.time, answer.body.expiresAt);
    const life = Date.parse(answer.body.expiresAt) - Date.now();
    expect(life).toBeGreaterThan(3_590_000);
    expect(life).toBeLessThanOrEqual(3_600_000);
    const { user } = (await me(answer.body.token)).body;
    expect(Date.now() - Date.parse(user.lastLoginAt)).toBeLessThan(60_000);
    expect(answer.headers.get("cache-control")).toBe("no-store");
  });

  test("an unknown user and a wrong password are the same answer", async () => {
    const wrong = await logIn(tenant.email, "not the password");
    const unknown = await logIn("nobody-at-all@example.org", "not the password");
    expectError(wrong, 401, "UNAUTHORIZED");
    expectError(unknown, 401, "UNAUTHORIZED");
    expect({ ...unknown.body, requestId: "" }).toEqual({ ...wrong.body, requestId: "" });
  });

  test("an unknown user takes as long as a wrong password", async () => {
    const time = async (email: string) => {
      const start = performance.now();
      await logIn(email, "not the password");
      return performance.now() - start;
    };
    const other = await newTenant(system);
    const median = async (email: (index: number) => string) => {
      const times = [];
      for (let index = 0; index < 5; index++) times.push(await time(email(index)));
      return times.sort((left, right) => left - right)[2] ?? 0;
    };
    const [known, unknown] = [await median(() => other.email), await median((index) => `nobody-${index}@example.org`)];
    // The hash takes tens of milliseconds: to leave it out would show as a fraction.
    expect(unknown).toBeGreaterThan(known / 3);
    expect(known).toBeGreaterThan(unknown / 3);
  });

  test("too many failures: 429 UNAUTHORIZED with retry-after, also for the right password; another account is unaffected", async () => {
    const victim = await newTenant(system);
    let answer = await logIn(victim.email, "wrong");
    for (let tries = 0; tries < 30 && answer.status === 401; tries++) answer = await logIn(victim.email, "wrong");
    expectError(answer, 429, "UNAUTHORIZED");
    expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
    expectError(await logIn(victim.email, victim.password), 429, "UNAUTHORIZED");
    expect((await logIn(tenant.email, tenant.password)).status).toBe(200);
  });

  test("a refreshed token belongs to the same session; role and name are read afresh", async () => {
    const other = await newTenant(system);
    const fresh = await ask("POST", "/api/auth/token/refresh", { token: other.token });
    expect(fresh.status).toBe(200);
    expect(fresh.body.token).not.toBe(other.token);
    expect(Object.keys(fresh.body).sort()).toEqual(["expiresAt", "token"]);
    expect((await me(fresh.body.token)).body.user.id).toBe(other.userId);
    const admin = await adminToken(system);
    await ask("PATCH", `/api/admin/users/${other.userId}`, { token: admin, body: { role: "admin" } });
    const again = await ask("POST", "/api/auth/token/refresh", { token: fresh.body.token });
    expect((await me(again.body.token)).body.user.role).toBe("admin");
    expect((await ask("GET", "/api/admin/users", { token: again.body.token })).status).toBe(200);
    await ask("PATCH", `/api/admin/users/${other.userId}`, { token: admin, body: { role: "user" } });
    expectError(await ask("GET", "/api/admin/users", { token: again.body.token }), 403, "FORBIDDEN");
  });

  test("after a log-out every token of the session is 401, those of other sessions are not", async () => {
    const { body: first } = await logIn(tenant.email, tenant.password);
    const { body: second } = await logIn(tenant.email, tenant.password);
    const { body: refreshed } = await ask("POST", "/api/auth/token/refresh", { token: first.token });
    expect((await ask("POST", "/api/auth/logout", { token: refreshed.token })).status).toBe(200);
    for (const token of [first.token, refreshed.token]) {
      expectError(await me(token), 401, "UNAUTHORIZED");
      expectError(await ask("POST", "/api/auth/token/refresh", { token }), 401, "UNAUTHORIZED");
      expectError(await ask("POST", "/api/auth/logout", { token }), 401, "UNAUTHORIZED");
    }
    expect((await me(second.token)).status).toBe(200);
  });

  test("a refresh ends the token before it; whoever uses that one ends the session, and only this session", async () => {
    const person = await newTenant(system);
    const { body: elsewhere } = await logIn(person.email, person.password);
    const { body: fresh } = await ask("POST", "/api/auth/token/refresh", { token: person.token });
    expect((await me(fresh.token)).status).toBe(200);
    expectError(await me(person.token), 401, "UNAUTHORIZED");
    expectError(await me(fresh.token), 401, "UNAUTHORIZED");
    expect((await me(elsewhere.token)).status).toBe(200);
  });

  test("a refresh that is repeated with its Idempotency-Key, as after a lost answer, is the same one", async () => {
    const person = await newTenant(system);
    const repeated = { token: person.token, headers: { "idempotency-key": "lost-answer" } };
    const answers = [];
    for (let tries = 0; tries < 3; tries++) answers.push(await ask("POST", "/api/auth/token/refresh", repeated));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(new Set(answers.map(({ body }) => body.token)).size).toBe(1);
    expect(answers.map(({ headers }) => headers.get("idempotent-replayed"))).toEqual([null, "true", "true"]);
    expect((await me(answers[0]?.body.token)).status).toBe(200);
  });

  test("one's sessions are listed, and ended one by one or all but the current one", async () => {
    const person = await newTenant(system);
    const headers = { "user-agent": "Browser/1" };
    const elsewhere = [];
    for (let count = 0; count < 3; count++)
      elsewhere.push(
        (await ask("POST", "/api/auth/token", { body: { email: person.email, password: person.password }, headers })).body.token,
      );
    const { body } = await ask("GET", "/api/auth/sessions", { token: person.token });
    expect(body.meta).toMatchObject({ total: 4 });
    expect(body.data.map(({ current }: { current: boolean }) => current)).toEqual([false, false, false, true]);
    expect(body.data[0]).toMatchObject({ userAgent: "Browser/1", address: expect.stringMatching(/127\.0\.0\.1$/) });
    for (const session of body.data)
      for (const at of ["createdAt", "lastUsedAt", "expiresAt"]) records.expectShape(records.time, session[at]);
    const [newest] = body.data;
    expect((await ask("DELETE", `/api/auth/sessions/${newest.id}`, { token: person.token })).body).toEqual({ ended: 1 });
    expectError(await ask("DELETE", `/api/auth/sessions/${newest.id}`, { token: person.token }), 404, "NOT_FOUND");
    expectError(await me(elsewhere[2]), 401, "UNAUTHORIZED");
    expect((await me(elsewhere[1])).status).toBe(200);
    expect((await ask("DELETE", "/api/auth/sessions", { token: person.token })).body).toEqual({ ended: 2 });
    for (const token of elsewhere) expectError(await me(token), 401, "UNAUTHORIZED");
    expect((await me(person.token)).status).toBe(200);
  });

  test("me answers the user and the active organization", async () => {
    const answer = await me(tenant.token);
    records.expectShape(records.organization, answer.body.organization);
    expect(answer.body.user).toMatchObject({ id: tenant.userId, email: tenant.email, role: "user" });
    expect(typeof answer.body.user.name).toBe("string");
    expect(answer.body.organization).toMatchObject({ id: tenant.organizationId, isActive: true });
    expect(answer.text).not.toMatch(/password|hash|\$argon|scrypt/i);
  });

  test("a deleted user's tokens are refused", async () => {
    const gone = await newTenant(system);
    await ask("DELETE", `/api/admin/users/${gone.userId}`, { token: await adminToken(system) });
    expectError(await me(gone.token), 401, "UNAUTHORIZED");
    expectError(await logIn(gone.email, gone.password), 401, "UNAUTHORIZED");
  });
});

describe("passwords", () => {
  test("a change ends every other session; the old password is no more", async () => {
    const person = await newTenant(system);
    const { body: other } = await logIn(person.email, person.password);
    const body = { currentPassword: person.password, newPassword: "a brand new password" };
    const answer = await ask("POST", "/api/auth/password", { token: person.token, body });
    expect(answer.status).toBe(200);
    expect((await me(answer.body.token)).status).toBe(200);
    expectError(await me(other.token), 401, "UNAUTHORIZED");
    expectError(await logIn(person.email, person.password), 401, "UNAUTHORIZED");
    expect((await logIn(person.email, "a brand new password")).status).toBe(200);
  });

  test("a change needs the current password and a good new one", async () => {
    const change = (currentPassword: string, newPassword: string) =>
      ask("POST", "/api/auth/password", { token: tenant.token, body: { currentPassword, newPassword } });
    const wrong = await change("wrong", "a brand new password");
    expectError(wrong, 401, "UNAUTHORIZED");
    expect(wrong.body.error).toBe("The current password is wrong.");
    for (const refused of ["short", "iloveyou", tenant.email])
      expectError(await change(tenant.password, refused), 400, "VALIDATION_ERROR", "newPassword");
    expect((await logIn(tenant.email, tenant.password)).status).toBe(200);
  });

  const resetToken = async (email: string): Promise<string> => {
    const before = system.controlPlane.stdout.length;
    const answer = await ask("POST", "/api/auth/password/reset-request", { body: { email } });
    expect([answer.status, answer.body]).toEqual([202, { accepted: true }]);
    for (let tries = 0; tries < 100; tries++) {
      const token = /reset-password\?token=([\w-]+)/.exec(system.controlPlane.stdout.slice(before) + system.controlPlane.stderr)?.[1];
      if (token) return token;
      await sleep(20);
    }
    throw new Error("no reset link in the log");
  };

  test("a reset link sets a password once and ends every session", async () => {
    const person = await newTenant(system);
    const token = await resetToken(person.email);
    const reset = (newPassword: string) => ask("POST", "/api/auth/password/reset", { body: { token, newPassword } });
    // A refused password does not use the link up.
    for (const refused of ["short", "iloveyou", person.email]) expectError(await reset(refused), 400, "VALIDATION_ERROR", "newPassword");
    expect((await reset("set by the link")).status).toBe(200);
    expectError(await me(person.token), 401, "UNAUTHORIZED");
    expectError(await logIn(person.email, person.password), 401, "UNAUTHORIZED");
    expect((await logIn(person.email, "set by the link")).status).toBe(200);
    expectError(await reset("set by the link again"), 400, "VALIDATION_ERROR");
  });

  test("a request for an unknown address looks the same, and an invented token does nothing", async () => {
    const answer = await ask("POST", "/api/auth/password/reset-request", { body: { email: "nobody-here@example.org" } });
    expect([answer.status, answer.body]).toEqual([202, { accepted: true }]);
    const body = { token: "A".repeat(43), newPassword: "set by nobody" };
    expectError(await ask("POST", "/api/auth/password/reset", { body }), 400, "VALIDATION_ERROR");
  });

  test("a repeated request under one Idempotency-Key mails no link that does not work", async () => {
    const person = await newTenant(system);
    const request = () =>
      ask("POST", "/api/auth/password/reset-request", { body: { email: person.email }, headers: { "idempotency-key": "reset-mail" } });
    await request();
    expect((await request()).headers.get("idempotent-replayed")).toBe("true");
    await sleep(300);
    const mails = system
      .logs()
      .split("\n")
      .filter((line) => line.includes(person.email) && line.includes("reset-password?token="));
    expect(mails).toHaveLength(1);
  });
});
