import { type Answer, adminToken, call, newTenant, type Tenant } from "../helpers/api.ts";
import { authenticator, enableTotp } from "../helpers/authenticator.ts";
import { type System, startSystem } from "../helpers/system.ts";
import { type Ask, expectError } from "./support.ts";

// Codes are of real time steps, and an account has three at once: a fourth waits up to half a minute.
jest.setTimeout(60_000);

const AT_ONCE = 80;
const CHECKED = 10;

let system: System;
let ask: Ask;
let plain: Tenant;
beforeAll(async () => {
  // The tests stand behind a proxy on loopback, which says where a caller is.
  system = await startSystem({ env: { TRUST_PROXY: "loopback" } });
  ask = (method, path, options) => call(system.url, method, path, options);
  plain = await newTenant(system);
});
afterAll(() => system.stop());

let counter = 0;
const freshAddress = () => `203.0.113.${++counter}`;
const logIn = ({ email, password }: Tenant, otp?: string, { address = freshAddress(), path = "/api/auth/token" } = {}) =>
  ask("POST", path, { body: { email, password, otp }, headers: { "x-forwarded-for": address, origin: system.url } });
const totp = (method: string, { token }: Tenant, rest = "", body?: object) => ask(method, `/api/auth/totp${rest}`, { token, body });
const statusOf = async (person: Tenant) => (await totp("GET", person)).body;
const me = (token: string) => ask("GET", "/api/auth/me", { token });
const expectOtp = (answer: Answer) => {
  expectError(answer, 401, "UNAUTHORIZED");
  expect(answer.body.details).toEqual([{ path: "otp", message: expect.any(String) }]);
};

test("from the set-up to a log-in with a code and to the end of it, with the shapes of the contract", async () => {
  const person = await newTenant(system);
  expect(await statusOf(person)).toEqual({ enabled: false, recoveryCodesLeft: 0 });
  const made = await totp("POST", person, "", { password: person.password });
  expect([made.status, Object.keys(made.body).sort(), made.headers.get("cache-control")]).toEqual([
    201,
    ["otpauthUrl", "secret"],
    "no-store",
  ]);
  expect(made.body.otpauthUrl).toMatch(/^otpauth:\/\/totp\/Tributary/);
  expect(new URL(made.body.otpauthUrl).searchParams.get("secret")).toBe(made.body.secret);
  expect((await logIn(person)).status).toBe(200);

  const app = authenticator(made.body.secret);
  const first = await app.next();
  const confirmed = await totp("POST", person, "/confirm", { otp: first });
  expect([confirmed.status, Object.keys(confirmed.body), new Set(confirmed.body.recoveryCodes).size]).toEqual([200, ["recoveryCodes"], 10]);
  expect(await statusOf(person)).toEqual({ enabled: true, recoveryCodesLeft: 10 });

  expectOtp(await logIn(person));
  expectOtp(await logIn(person, "000000"));
  expectOtp(await logIn(person, first));
  const second = await app.next();
  expect((await logIn(person, second)).status).toBe(200);
  expectOtp(await logIn(person, second));

  const disabled = await totp("DELETE", person, "", { otp: await app.next() });
  expect([disabled.status, disabled.body]).toEqual([200, { enabled: false }]);
  expect([await statusOf(person), (await logIn(person)).status]).toEqual([{ enabled: false, recoveryCodesLeft: 0 }, 200]);
});

test("turning it on ends the other sessions; a refresh of the own one needs no code", async () => {
  const person = await newTenant(system);
  const { body: elsewhere } = await logIn(person);
  await enableTotp(system, person);
  expectError(await me(elsewhere.token), 401, "UNAUTHORIZED");
  const fresh = await ask("POST", "/api/auth/token/refresh", { token: person.token });
  expect([fresh.status, (await me(fresh.body.token)).status]).toEqual([200, 200]);
});

test.each(["/api/auth/token", "/api/auth/session"])("%s takes a recovery code once, in any case of letters", async (path) => {
  const person = await newTenant(system);
  const { recoveryCodes } = await enableTotp(system, person);
  const [code = ""] = recoveryCodes;
  expectOtp(await logIn(person, undefined, { path }));
  expect((await logIn(person, code.toUpperCase(), { path })).status).toBe(200);
  expectOtp(await logIn(person, code, { path }));
  expect(await statusOf(person)).toEqual({ enabled: true, recoveryCodesLeft: 9 });
});

test("the log-in page without scripts takes the code as a field", async () => {
  const person = await newTenant(system);
  const { app } = await enableTotp(system, person);
  const send = (otp: string) =>
    fetch(`${system.url}/fallback/login`, {
      method: "POST",
      redirect: "manual",
      headers: { origin: system.url },
      body: new URLSearchParams({ email: person.email, password: person.password, otp }),
    });
  const refused = await send("");
  expect([refused.status, await refused.text()]).toEqual([401, expect.stringContaining("two-factor")]);
  expect((await send(await app.next())).status).toBe(303);
});

test("a caller without the password does not learn that there is a second factor", async () => {
  const guarded = await newTenant(system);
  await enableTotp(system, guarded);
  const wrong = (email: string, otp?: string) => logIn({ ...plain, email, password: "not the password" }, otp);
  const answers = await Promise.all(
    [plain.email, guarded.email, "nobody-here@example.org"].flatMap((email) => [wrong(email), wrong(email, "000000")]),
  );
  for (const answer of answers) expectError(answer, 401, "UNAUTHORIZED");
  expect(new Set(answers.map(({ body }) => JSON.stringify({ ...body, requestId: "" }))).size).toBe(1);
});

test("of eighty wrong codes at once ten are checked and the rest wait, at every operation that takes a code", async () => {
  const person = await newTenant(system);
  const { app } = await enableTotp(system, person);
  const counts = async (guess: (address: string) => Promise<Answer>) => {
    const address = freshAddress();
    const answers = await Promise.all(Array.from({ length: AT_ONCE }, () => guess(address)));
    const [wrong, late] = [401, 429].map((status) => answers.filter((answer) => answer.status === status));
    for (const answer of wrong ?? []) expectOtp(answer);
    for (const answer of late ?? []) expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
    return [wrong?.length, late?.length];
  };
  const ofSession = (method: string, rest: string) => (address: string) =>
    ask(method, `/api/auth/totp${rest}`, { token: person.token, body: { otp: "000000" }, headers: { "x-forwarded-for": address } });
  const expected = [CHECKED, AT_ONCE - CHECKED];
  expect(await counts((address) => logIn(person, "000000", { address }))).toEqual(expected);
  expect(await counts(ofSession("DELETE", ""))).toEqual(expected);
  // One wrong code below the thirty of a day, so that the person still gets in from elsewhere.
  const nine = await Promise.all(Array.from({ length: CHECKED - 1 }, () => ofSession("POST", "/recovery-codes")("203.0.113.250")));
  for (const answer of nine) expectOtp(answer);
  expect((await logIn(person, await app.next())).status).toBe(200);
  expectOtp(await logIn(person, "000000"));
  const spent = await logIn(person, await app.next());
  expectError(spent, 429, "UNAUTHORIZED");
  expect(Number(spent.headers.get("retry-after"))).toBeGreaterThan(3600);
});

test("a platform admin turns it off for a user who lost everything; the audit log names each step and no secret", async () => {
  const person = await newTenant(system);
  const { secret, recoveryCodes } = await enableTotp(system, person);
  await logIn(person, recoveryCodes[0]);
  await logIn(person, recoveryCodes[0]);
  const admin = await adminToken(system);
  const reset = (token: string) => ask("DELETE", `/api/admin/users/${person.userId}/totp`, { token });
  expectError(await reset(person.token), 403, "FORBIDDEN");
  const done = await reset(admin);
  expect([done.status, done.body, (await logIn(person)).status]).toEqual([200, { enabled: false }, 200]);
  expectError(await reset(admin), 404, "NOT_FOUND");
  const log = await ask("GET", `/api/admin/audit?organizationId=${person.organizationId}&pageSize=100`, { token: admin });
  const actions = log.body.data.map(({ action }: { action: string }) => action).filter((action: string) => action.startsWith("totp."));
  expect(actions.reverse()).toEqual(["totp.setup", "totp.enable", "totp.recovery_used", "totp.refused", "totp.reset"]);
  for (const plain of [secret, ...recoveryCodes]) expect(log.text).not.toContain(plain);
});

test.each([
  ["POST", "", {}, "password"],
  ["POST", "/confirm", {}, "otp"],
  ["POST", "/confirm", { otp: 123456 }, "otp"],
  ["POST", "/recovery-codes", { otp: "" }, "otp"],
  ["DELETE", "", { otp: "x".repeat(65) }, "otp"],
  ["DELETE", "", { otp: "abcde-fghjk" }, "password"],
] as const)("%s /api/auth/totp%s with %j is 400 and named", async (method, rest, body, path) => {
  expectError(await totp(method, plain, rest, body), 400, "VALIDATION_ERROR", path);
});

test("what is not on cannot be confirmed, renewed or turned off", async () => {
  const person = await newTenant(system);
  for (const [method, rest] of [
    ["POST", "/confirm"],
    ["POST", "/recovery-codes"],
    ["DELETE", ""],
  ] as const) {
    expectError(await totp(method, person, rest, { otp: "000000" }), 404, "NOT_FOUND");
  }
  await enableTotp(system, person);
  expectError(await totp("POST", person, "", { password: person.password }), 409, "VALIDATION_ERROR");
});
