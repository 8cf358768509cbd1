import { Secret, TOTP } from "otpauth";
import type { AppError } from "../../../common/errors.ts";
import { openPlatform, outcomeOf, PASSWORD, type Platform } from "../platform-fixture.ts";
import { identityHandlers } from "./service.ts";

const STEP_MS = 30_000;
const EMAIL = "owner@example.org";

let platform: Platform;
beforeEach(async () => {
  platform = await openPlatform();
});
afterEach(() => platform.close());

const identity = () => identityHandlers(platform.deps);
const owner = () => platform.as("owner");
const from = (address: string) => platform.as("anonymous", { "x-client-ip": address });
const logIn = (otp?: string, { password = PASSWORD, address = "192.0.2.1" } = {}) =>
  identity().createToken({ email: EMAIL, password, otp }, from(address));
const codeAt = (secret: string, now: number) => new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: now });
/** The code of the current time step, or of one `steps` later. */
const code = (secret: string, steps = 0) => codeAt(secret, platform.deps.clock.now() + steps * STEP_MS);
const setUp = (password = PASSWORD) => identity().setUpTotp({ password }, owner());
const status = () => identity().getTotp({}, owner());
const otpDetails = (call: Promise<unknown>) => call.catch((error: AppError) => error.details.map(({ path }) => path));

async function enable(): Promise<{ secret: string; recoveryCodes: string[] }> {
  const { secret } = await setUp();
  const { recoveryCodes } = await identity().confirmTotp({ otp: code(secret) }, owner());
  await platform.advance(STEP_MS);
  return { secret, recoveryCodes };
}

async function auditOf(prefix: string): Promise<[string, unknown][]> {
  const lines: [string, unknown][] = [];
  for await (const { action, details } of platform.deps.store.scan("audit", {})) {
    if (action.startsWith(prefix)) lines.push([action, JSON.parse(details)]);
  }
  return lines;
}

test("it is set up with the password, and on once the first code confirms it, which ends every other session", async () => {
  expect(await outcomeOf(setUp("wrong password"))).toBe("UNAUTHORIZED");
  expect(await outcomeOf(identity().confirmTotp({ otp: "123456" }, owner()))).toBe("NOT_FOUND");
  const { secret, otpauthUrl } = await setUp();
  expect(otpauthUrl).toContain(`secret=${secret}`);
  expect(await status()).toEqual({ enabled: false, recoveryCodesLeft: 0 });
  const other = (await logIn()).token;
  expect(await outcomeOf(identity().confirmTotp({ otp: code(secret, 2) }, owner()))).toBe("UNAUTHORIZED");
  const { recoveryCodes } = await identity().confirmTotp({ otp: code(secret) }, owner());
  expect([recoveryCodes.length, await status()]).toEqual([10, { enabled: true, recoveryCodesLeft: 10 }]);
  expect(await outcomeOf(identity().getMe({}, platform.as("anonymous", { authorization: other })))).toBe("UNAUTHORIZED");
  expect(await auditOf("totp.")).toEqual([
    ["totp.setup", {}],
    ["totp.refused", {}],
    ["totp.enable", { endedSessions: 1 }],
  ]);
  expect([await outcomeOf(setUp()), await outcomeOf(identity().confirmTotp({ otp: code(secret, 1) }, owner()))]).toEqual([
    "ALREADY_EXISTS",
    "ALREADY_EXISTS",
  ]);
});

test("a second set-up replaces a secret that was not confirmed", async () => {
  const [first, second] = [await setUp(), await setUp()];
  expect(await outcomeOf(identity().confirmTotp({ otp: code(first.secret) }, owner()))).toBe("UNAUTHORIZED");
  expect(await outcomeOf(identity().confirmTotp({ otp: code(second.secret) }, owner()))).toBe("ok");
});

test("a log-in asks for the code, and only after the right password", async () => {
  const { secret } = await enable();
  expect(await otpDetails(logIn())).toEqual(["otp"]);
  expect(await otpDetails(logIn("000000"))).toEqual(["otp"]);
  expect(await otpDetails(logIn(code(secret), { password: "wrong password" }))).toEqual([]);
  const stranger = identity().createToken({ email: "none@example.org", password: PASSWORD, otp: code(secret) }, from("192.0.2.1"));
  expect(await otpDetails(stranger)).toEqual([]);
  expect(await outcomeOf(logIn(code(secret)))).toBe("ok");
});

test("an account without it logs in as before, with or without a code", async () => {
  const other = (otp?: string) => identity().createToken({ email: "stranger@example.org", password: PASSWORD, otp }, from("192.0.2.1"));
  expect([await outcomeOf(other()), await outcomeOf(other("000000"))]).toEqual(["ok", "ok"]);
  await setUp();
  expect(await outcomeOf(logIn())).toBe("ok");
});

test("a code is accepted once, also in parallel, and none that is older than the last one", async () => {
  const { secret } = await enable();
  const [previous, current] = [code(secret, -1), code(secret)];
  expect((await Promise.all([1, 2, 3].map(() => outcomeOf(logIn(current))))).sort()).toEqual(["UNAUTHORIZED", "UNAUTHORIZED", "ok"]);
  expect(await outcomeOf(logIn(previous))).toBe("UNAUTHORIZED");
  expect(await outcomeOf(logIn(code(secret, 1)))).toBe("ok");
  expect(await outcomeOf(logIn(code(secret, 2)))).toBe("UNAUTHORIZED");
});

test("the code that confirmed the set-up cannot be used to log in", async () => {
  const { secret } = await setUp();
  await identity().confirmTotp({ otp: code(secret) }, owner());
  expect(await outcomeOf(logIn(code(secret)))).toBe("UNAUTHORIZED");
});

test("a repeated log-in with the same Idempotency-Key uses no second code", async () => {
  const { secret } = await enable();
  const again = { "idempotency-key": "k", "idempotency-hash": "h" };
  const request = { email: EMAIL, password: PASSWORD, otp: code(secret) };
  const [first, second] = [1, 2].map(() => () => identity().createToken(request, platform.as("anonymous", again)));
  expect((await first?.())?.token).toBe((await second?.())?.token);
});

test("a recovery code logs in once, is named in the audit log, and the others stay", async () => {
  const { recoveryCodes } = await enable();
  const [first = "", second = ""] = recoveryCodes;
  expect(await outcomeOf(logIn(first.toUpperCase().replace("-", " ")))).toBe("ok");
  expect([await outcomeOf(logIn(first)), await outcomeOf(logIn(second))]).toEqual(["UNAUTHORIZED", "ok"]);
  expect(await status()).toEqual({ enabled: true, recoveryCodesLeft: 8 });
  expect(await auditOf("totp.recovery_used")).toEqual([
    ["totp.recovery_used", { left: 9 }],
    ["totp.recovery_used", { left: 8 }],
  ]);
});

test("of eighty wrong codes at once ten are checked; a missing code uses up none", async () => {
  const { secret } = await enable();
  for (let missing = 0; missing < 12; missing++) expect(await outcomeOf(logIn())).toBe("UNAUTHORIZED");
  const outcomes = await Promise.all(Array.from({ length: 80 }, () => outcomeOf(logIn("000000"))));
  expect(outcomes.filter((outcome) => outcome === "UNAUTHORIZED")).toHaveLength(10);
  expect([await outcomeOf(logIn(code(secret))), await outcomeOf(logIn(code(secret), { address: "192.0.2.2" }))]).toEqual([
    "LOGIN_THROTTLED",
    "ok",
  ]);
  expect(await auditOf("totp.refused")).toHaveLength(10);
});

test("an account takes thirty wrong codes a day from however many addresses; a new password starts a new count", async () => {
  await enable();
  const guess = (index: number, password = PASSWORD) => outcomeOf(logIn("000000", { address: `192.0.2.${index % 200}`, password }));
  const outcomes: string[] = [];
  for (let index = 0; index < 35; index++) {
    outcomes.push(await guess(index));
    await platform.advance(5 * 60_000);
  }
  expect(outcomes).toEqual([...Array(30).fill("UNAUTHORIZED"), ...Array(5).fill("LOGIN_THROTTLED")]);
  await identity().changePassword({ currentPassword: PASSWORD, newPassword: "another horse battery" }, owner());
  expect(await guess(1, "another horse battery")).toBe("UNAUTHORIZED");
});

test("wrong codes of a session count as log-ins do", async () => {
  await enable();
  const guesses = Array.from({ length: 40 }, () => outcomeOf(identity().disableTotp({ otp: "000000" }, owner())));
  expect((await Promise.all(guesses)).filter((outcome) => outcome === "UNAUTHORIZED")).toHaveLength(10);
  expect((await status()).enabled).toBe(true);
});

test("it is turned off with a code, or with a recovery code and the password", async () => {
  const { secret, recoveryCodes } = await enable();
  const [recovery = ""] = recoveryCodes;
  const off = (request: { otp: string; password?: string }) => outcomeOf(identity().disableTotp(request, owner()));
  expect(await off({ otp: recovery })).toBe("VALIDATION_ERROR");
  expect(await off({ otp: recovery, password: "wrong password" })).toBe("UNAUTHORIZED");
  expect(await off({ otp: code(secret), password: "wrong password" })).toBe("UNAUTHORIZED");
  expect(await off({ otp: recovery, password: PASSWORD })).toBe("ok");
  expect([await status(), await outcomeOf(logIn())]).toEqual([{ enabled: false, recoveryCodesLeft: 0 }, "ok"]);
  expect(await off({ otp: code(secret) })).toBe("NOT_FOUND");
  const again = await enable();
  expect([await off({ otp: code(again.secret) }), await auditOf("totp.disable")]).toEqual([
    "ok",
    [
      ["totp.disable", { with: "recovery" }],
      ["totp.disable", { with: "totp" }],
    ],
  ]);
});

test("new recovery codes need a code of the app, and end the old ones", async () => {
  const { secret, recoveryCodes } = await enable();
  const [old = ""] = recoveryCodes;
  const renew = (otp: string) => identity().renewRecoveryCodes({ otp }, owner());
  expect(await outcomeOf(renew(old))).toBe("UNAUTHORIZED");
  const renewed = await renew(code(secret));
  expect(renewed.recoveryCodes.filter((one) => recoveryCodes.includes(one))).toEqual([]);
  expect([await outcomeOf(logIn(old)), await outcomeOf(logIn(renewed.recoveryCodes[0]))]).toEqual(["UNAUTHORIZED", "ok"]);
  expect(await outcomeOf(renew(code(secret)))).toBe("UNAUTHORIZED");
});

test("a password reset leaves it on", async () => {
  await enable();
  await identity().requestPasswordReset({ email: EMAIL }, platform.as("anonymous"));
  const resetToken = /token=([\w-]+)/.exec(platform.mails.at(-1)?.text ?? "")?.[1] ?? "";
  await identity().resetPassword({ resetToken, newPassword: "another horse battery" }, platform.as("anonymous"));
  expect(await otpDetails(logIn(undefined, { password: "another horse battery" }))).toEqual(["otp"]);
});

test("a platform admin turns it off for a user; other roles cannot", async () => {
  await enable();
  const id = BigInt(platform.users.owner.id);
  const { anonymous, operator, ...others } = await platform.outcomes((context) => identity().resetUserTotp({ id }, context));
  expect([anonymous, operator, ...new Set(Object.values(others))]).toEqual(["UNAUTHORIZED", "ok", "FORBIDDEN"]);
  expect([await outcomeOf(logIn()), await auditOf("totp.reset")]).toEqual(["ok", [["totp.reset", {}]]]);
  expect(await outcomeOf(identity().resetUserTotp({ id }, platform.as("operator")))).toBe("NOT_FOUND");
});

test("neither the secret nor a recovery code is readable in the store, and both go with the account", async () => {
  const { secret, recoveryCodes } = await enable();
  const { id } = platform.users.owner;
  const stored = JSON.stringify(await platform.deps.store.get("secondFactors", id));
  for (const plain of [secret, Buffer.from(secret).toString("base64"), ...recoveryCodes]) expect(stored).not.toContain(plain);
  await identity().deleteUser({ id: BigInt(id) }, platform.as("operator"));
  expect(await platform.deps.store.get("secondFactors", id)).toBeUndefined();
});
