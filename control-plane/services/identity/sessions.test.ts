import type { Store } from "../../stores/store.ts";
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

test("a repeated refresh that arrives while the first one is written gets the same token", async () => {
  const first = await logIn();
  let answered: string | undefined;
  // Between the reads of the repeated refresh, the first one is done.
  const get: Store["get"] = async (collection, id) => {
    const read = await platform.deps.store.get(collection, id);
    if (collection === "sessions") answered ??= await refresh(first, key("parallel"));
    return read;
  };
  const store = new Proxy(platform.deps.store, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name);
      return name === "get" ? get : typeof value === "function" ? value.bind(target) : value;
    },
  });
  const repeated = await identityHandlers({ ...platform.deps, store }).refreshToken({}, withToken(first, key("parallel")));
  expect(repeated.token).toBe(answered);
  expect(await me(repeated.token)).toBe("ok");
});

const list = async (token: string) => (await identity().listSessions({ page: undefined }, withToken(token))).sessions;
const idOf = async (token: string) => (await list(token)).find(({ current }) => current)?.id ?? "";

test("the list has the user's own sessions, with the client of the log-in or of the last refresh", async () => {
  await platform.advance(1000);
  const client = { "x-client-ip": "192.0.2.1", "x-user-agent": "Browser/1" };
  const credentials = { email: "owner@example.org", password: PASSWORD };
  const { token } = await identity().createToken(credentials, platform.as("anonymous", client));
  const [ofLogIn, ofFixture, ...others] = await list(token);
  expect(ofLogIn).toMatchObject({ current: true, address: "192.0.2.1", userAgent: "Browser/1" });
  expect(ofFixture).toMatchObject({ current: false, address: undefined, userAgent: undefined });
  expect(others).toEqual([]);
  await platform.advance(60_000);
  const moved = await refresh(token, { "x-client-ip": "192.0.2.2" });
  const [refreshed] = await list(moved);
  expect(refreshed).toMatchObject({ id: ofLogIn?.id, address: "192.0.2.2", userAgent: "Browser/1", createdAt: ofLogIn?.createdAt });
  expect(Number(refreshed?.lastUsedAt) - Number(refreshed?.createdAt)).toBe(60_000);
});

test("a user ends one of their sessions, and nobody else's", async () => {
  const [own, other] = [await logIn(), await logIn()];
  const otherId = await idOf(other);
  const end = (id: string, context = withToken(own)) => outcomeOf(identity().endSession({ id }, context));
  expect([await end(otherId, platform.as("stranger")), await end("ses_none")]).toEqual(["NOT_FOUND", "NOT_FOUND"]);
  expect(await me(other)).toBe("ok");
  expect([await end(otherId), await end(otherId)]).toEqual(["ok", "NOT_FOUND"]);
  expect([await me(other), await me(own)]).toEqual(["UNAUTHORIZED", "ok"]);
});

test("a user ends all sessions but the current one", async () => {
  const [own, ...others] = [await logIn(), await logIn(), await logIn()];
  // The user's fixture session is one more.
  expect(await identity().endOtherSessions({}, withToken(own ?? ""))).toEqual({ ended: 3 });
  expect([await me(own ?? ""), ...(await Promise.all(others.map((token) => me(token))))]).toEqual(["ok", "UNAUTHORIZED", "UNAUTHORIZED"]);
  expect((await list(own ?? "")).map(({ current }) => current)).toEqual([true]);
  expect(await outcomeOf(identity().getMe({}, platform.as("stranger")))).toBe("ok");
});
