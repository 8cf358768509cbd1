import { openPlatform, outcomeOf, PASSWORD, type Platform, type Who } from "../platform-fixture.ts";
import { identityHandlers } from "./service.ts";

let platform: Platform;
beforeEach(async () => {
  platform = await openPlatform();
});
afterEach(() => platform.close());

const identity = () => identityHandlers(platform.deps);
const logIn = (email: string, password = PASSWORD) => identity().createToken({ email, password }, platform.as("anonymous"));
const signUp = (email: string, password = PASSWORD) => identity().signUp({ email, password }, platform.as("anonymous"));
const withToken = (authorization: string) => platform.as("anonymous", { authorization });
const isSignedIn = async (authorization: string) => (await outcomeOf(identity().getMe({}, withToken(authorization)))) === "ok";
const change = (authorization: string, currentPassword: string, newPassword = "another horse battery") =>
  identity().changePassword({ currentPassword, newPassword }, withToken(authorization));

test("a new user owns a new organization with a team and the sign-up grant", async () => {
  const { user, organization, team, token } = await signUp("New@Example.org");
  expect([user?.email, user?.role, organization?.role, organization?.balance, team?.memberCount]).toEqual([
    "new@example.org",
    "user",
    "owner",
    1000n,
    1,
  ]);
  expect(await isSignedIn(token)).toBe(true);
});

test.each([
  ["an address that has an account, in any case", "OWNER@example.org", PASSWORD, "ALREADY_EXISTS"],
  ["a short password", "new@example.org", "short", "VALIDATION_ERROR"],
  ["a common password", "new@example.org", "password1", "VALIDATION_ERROR"],
  ["the address as password", "new@example.org", "new@example.org", "VALIDATION_ERROR"],
])("a sign-up with %s is refused", async (_name, email, password, expected) => {
  expect(await outcomeOf(signUp(email, password))).toBe(expected);
});

test("a wrong password and an unknown address fail alike", async () => {
  const failures = await Promise.all(
    [logIn("owner@example.org", "wrong password"), logIn("none@example.org")].map((call) => call.catch((error: Error) => String(error))),
  );
  expect(await outcomeOf(logIn("owner@example.org", "wrong password"))).toBe("UNAUTHORIZED");
  expect(new Set(failures).size).toBe(1);
  expect(await outcomeOf(logIn("Owner@example.org"))).toBe("ok");
});

test("after ten wrong passwords log-ins to the account wait, with the right password too", async () => {
  for (let attempt = 0; attempt < 10; attempt++) await outcomeOf(logIn("owner@example.org", "wrong password"));
  expect(await outcomeOf(logIn("owner@example.org"))).toBe("LOGIN_THROTTLED");
  expect(await outcomeOf(logIn("stranger@example.org"))).toBe("ok");
  await platform.advance(5 * 60_000);
  expect(await outcomeOf(logIn("owner@example.org"))).toBe("ok");
});

test("a token is refused after log-out, after an hour, and if it was changed", async () => {
  const [first, second] = [await logIn("owner@example.org"), await logIn("owner@example.org")];
  await identity().logout({}, withToken(first.token));
  expect([await isSignedIn(first.token), await isSignedIn(second.token)]).toEqual([false, true]);
  expect(await isSignedIn(`${second.token.slice(0, -2)}xx`)).toBe(false);
  await platform.advance(3_600_001);
  expect(await isSignedIn(second.token)).toBe(false);
});

test("a password change needs the current one and revokes every other session", async () => {
  const [own, other] = [(await logIn("owner@example.org")).token, (await logIn("owner@example.org")).token];
  expect(await outcomeOf(change(own, "wrong password"))).toBe("UNAUTHORIZED");
  expect(await outcomeOf(change(own, PASSWORD))).toBe("ok");
  expect([await isSignedIn(own), await isSignedIn(other)]).toEqual([true, false]);
  expect(await outcomeOf(logIn("owner@example.org"))).toBe("UNAUTHORIZED");
});

test("a reset link works once, for an hour, and revokes every session", async () => {
  const request = async () => {
    await identity().requestPasswordReset({ email: "owner@example.org" }, platform.as("anonymous"));
    return /token=([\w-]+)/.exec(platform.mails.at(-1)?.text ?? "")?.[1] ?? "";
  };
  const reset = (resetToken: string) =>
    identity().resetPassword({ resetToken, newPassword: "another horse battery" }, platform.as("anonymous"));
  const { token } = await logIn("owner@example.org");
  const [used, late] = [await request(), await request()];
  expect(await outcomeOf(reset(used))).toBe("ok");
  expect(await isSignedIn(token)).toBe(false);
  expect(await outcomeOf(reset(used))).toBe("VALIDATION_ERROR");
  await platform.advance(3_600_000);
  expect(await outcomeOf(reset(late))).toBe("VALIDATION_ERROR");
});

test("an invented or used reset link, or a password against the rules, takes no turn of those who wait for a hash", async () => {
  const hash = jest.fn(platform.deps.passwords.hash);
  const handlers = identityHandlers({ ...platform.deps, passwords: { ...platform.deps.passwords, hash } });
  const reset = (resetToken: string, newPassword = "another horse battery", key?: string) =>
    outcomeOf(
      handlers.resetPassword({ resetToken, newPassword }, platform.as("anonymous", key === undefined ? {} : { "idempotency-key": key })),
    );
  expect(await reset("x")).toBe("VALIDATION_ERROR");
  await handlers.requestPasswordReset({ email: "owner@example.org" }, platform.as("anonymous"));
  const token = /token=([\w-]+)/.exec(platform.mails.at(-1)?.text ?? "")?.[1] ?? "";
  expect(await reset(token, "short")).toBe("VALIDATION_ERROR");
  expect(hash).not.toHaveBeenCalled();
  expect(await reset(token, undefined, "key-1")).toBe("ok");
  expect(await reset(token)).toBe("VALIDATION_ERROR");
  // The answer of the first one, though the link is used up.
  expect(await reset(token, undefined, "key-1")).toBe("ok");
  expect(hash).toHaveBeenCalledTimes(1);
});

test("a reset request for an unknown address succeeds and sends nothing", async () => {
  expect(await outcomeOf(identity().requestPasswordReset({ email: "none@example.org" }, platform.as("anonymous")))).toBe("ok");
  expect(platform.mails).toEqual([]);
});

test("on an exposed deployment an address tries 20 reset links an hour; others are unaffected", async () => {
  await platform.close();
  platform = await openPlatform({ TRUST_PROXY: "loopback" });
  const reset = (address: string) =>
    outcomeOf(identity().resetPassword({ resetToken: "x", newPassword: PASSWORD }, platform.as("anonymous", { "x-client-ip": address })));
  for (let tries = 0; tries < 20; tries++) expect(await reset("192.0.2.1")).toBe("VALIDATION_ERROR");
  expect([await reset("192.0.2.1"), await reset("192.0.2.2")]).toEqual(["RATE_LIMIT_EXCEEDED", "VALIDATION_ERROR"]);
});

test("on an exposed deployment an address signs up 20 times and asks for 10 reset mails an hour; others are unaffected", async () => {
  await platform.close();
  platform = await openPlatform({ TRUST_PROXY: "loopback" });
  const from = (address: string) => platform.as("anonymous", { "x-client-ip": address });
  const outcomes = async (count: number, call: (index: number) => Promise<unknown>) => {
    const seen: string[] = [];
    for (let index = 0; index < count; index++) seen.push(await outcomeOf(call(index)));
    return seen;
  };
  const join = (address: string) => (index: number) =>
    identity().signUp({ email: `p${address}-${index}@example.org`, password: PASSWORD }, from(address));
  const reset = (address: string) => () => identity().requestPasswordReset({ email: "owner@example.org" }, from(address));
  expect(await outcomes(21, join("192.0.2.1"))).toEqual([...Array(20).fill("ok"), "RATE_LIMIT_EXCEEDED"]);
  expect(await outcomes(11, reset("192.0.2.1"))).toEqual([...Array(10).fill("ok"), "RATE_LIMIT_EXCEEDED"]);
  expect(platform.mails).toHaveLength(10);
  expect([...(await outcomes(1, join("192.0.2.2"))), ...(await outcomes(1, reset("192.0.2.2")))]).toEqual(["ok", "ok"]);
  await platform.advance(3_600_000);
  expect(await outcomes(1, reset("192.0.2.1"))).toEqual(["ok"]);
});

test.each(["listUsers", "getUser", "updateUser", "deleteUser"] as const)("%s is for platform admins", async (method) => {
  const request = { page: undefined, id: BigInt(platform.users.colleague.id) };
  const { anonymous, operator, ...others } = await platform.outcomes((context) => identity()[method](request, context));
  // After deleteUser by the operator the colleague has no account.
  const { colleague, ...rest } = others;
  expect([anonymous, operator, ...new Set(Object.values(rest))]).toEqual(["UNAUTHORIZED", "ok", "FORBIDDEN"]);
  expect(colleague).toBe(method === "deleteUser" ? "UNAUTHORIZED" : "FORBIDDEN");
});

test("the last platform admin cannot be demoted or deleted", async () => {
  const id = BigInt(platform.users.operator.id);
  const attempts = [
    identity().updateUser({ id, role: "user" }, platform.as("operator")),
    identity().deleteUser({ id }, platform.as("operator")),
  ];
  expect(await Promise.all(attempts.map(outcomeOf))).toEqual(["VALIDATION_ERROR", "VALIDATION_ERROR"]);
});

test("a deleted user has no access, and their organization keeps its balance", async () => {
  const who: Who = "stranger";
  await identity().deleteUser({ id: BigInt(platform.users[who].id) }, platform.as("operator"));
  expect(await outcomeOf(identity().getMe({}, platform.as(who)))).toBe("UNAUTHORIZED");
  expect((await platform.deps.store.get("accounts", `org:${platform.users[who].organizationId}`))?.balance).toBe(1000n);
});
