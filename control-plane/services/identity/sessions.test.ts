import { openPlatform, outcomeOf, PASSWORD, type Platform } from "../platform-fixture.ts";
import { identityHandlers } from "./service.ts";

let platform: Platform;
beforeEach(async () => {
  platform = await openPlatform();
});
afterEach(() => platform.close());

const identity = () => identityHandlers(platform.deps);
const logIn = async () =>
  (await identity().createToken({ email: "owner@example.org", password: PASSWORD }, platform.as("anonymous"))).token;
const withToken = (authorization: string, more: Record<string, string> = {}) => platform.as("anonymous", { authorization, ...more });
const me = (token: string, more?: Record<string, string>) => outcomeOf(identity().getMe({}, withToken(token, more)));
const refresh = async (token: string, more?: Record<string, string>) => (await identity().refreshToken({}, withToken(token, more))).token;
const cookie = { "x-session-cookie": "true" };
const key = (value: string) => ({ "idempotency-key": value });

test("a refresh ends the token before it, and leaves other sessions alone", async () => {
  const [first, other] = [await logIn(), await logIn()];
  const second = await refresh(first);
  const third = await refresh(second);
  expect(new Set([first, second, third]).size).toBe(3);
  expect([await me(third), await me(other)]).toEqual(["ok", "ok"]);
  expect([await me(second), await me(other)]).toEqual(["UNAUTHORIZED", "ok"]);
});

test.each([
  ["a call", (token: string) => me(token)],
  ["a refresh", (token: string) => outcomeOf(refresh(token))],
])("%s with an ended token ends the session, and the audit log says so", async (_name, reuse) => {
  const first = await logIn();
  const second = await refresh(first);
  expect(await me(second)).toBe("ok");
  expect(await reuse(first)).toBe("UNAUTHORIZED");
  expect([await me(second), await outcomeOf(refresh(second))]).toEqual(["UNAUTHORIZED", "UNAUTHORIZED"]);
  const lines = [];
  for await (const line of platform.deps.store.scan("audit", {})) if (line.action === "session.reuse") lines.push(JSON.parse(line.details));
  expect(lines).toEqual([{ userId: platform.users.owner.id }]);
});

test("of two parallel refreshes of one token one is a reuse", async () => {
  const first = await logIn();
  const outcomes = await Promise.all([outcomeOf(refresh(first)), outcomeOf(refresh(first))]);
  expect(outcomes.sort()).toEqual(["UNAUTHORIZED", "ok"]);
});

test("a refresh that is repeated with its Idempotency-Key gets the same token, for ten seconds", async () => {
  const first = await logIn();
  const [second, same] = await Promise.all([refresh(first, key("a")), refresh(first, key("a"))]);
  expect(same).toBe(second);
  await platform.advance(9_999);
  expect(await refresh(first, key("a"))).toBe(second);
  expect(await me(second)).toBe("ok");
  await platform.advance(1);
  expect(await outcomeOf(refresh(first, key("a")))).toBe("UNAUTHORIZED");
  expect(await me(second)).toBe("UNAUTHORIZED");
});

test("another Idempotency-Key is no repetition", async () => {
  const first = await logIn();
  await refresh(first, key("a"));
  expect(await outcomeOf(refresh(first, key("b")))).toBe("UNAUTHORIZED");
});

test("requests of the console that were sent before its refresh are served, for ten seconds", async () => {
  const first = await logIn();
  const second = await refresh(first, cookie);
  expect(await me(first, cookie)).toBe("ok");
  const ofOtherTab = await refresh(first, cookie);
  expect([await me(ofOtherTab, cookie), await me(second, cookie)]).toEqual(["ok", "ok"]);
  await platform.advance(10_000);
  expect(await me(second, cookie)).toBe("ok");
  expect(await me(first, cookie)).toBe("UNAUTHORIZED");
  expect(await me(second, cookie)).toBe("UNAUTHORIZED");
});

test("only the token before the last refresh can be on its way", async () => {
  const first = await logIn();
  const second = await refresh(await refresh(first, cookie), cookie);
  expect(await me(first, cookie)).toBe("UNAUTHORIZED");
  expect(await me(second, cookie)).toBe("UNAUTHORIZED");
});

test("after a password change the session goes on with the new token, and its refresh ends the one before", async () => {
  const first = await logIn();
  const change = { currentPassword: PASSWORD, newPassword: "another horse battery" };
  const { token: changed } = await identity().changePassword(change, withToken(first));
  const second = await refresh(changed);
  expect(await me(second)).toBe("ok");
  expect(await me(first)).toBe("UNAUTHORIZED");
});
