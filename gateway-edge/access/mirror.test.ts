import { AppError } from "../../common/errors.ts";
import { Caller, type ResolveKeyResponse } from "../../proto/gen/tributary/access/v1/access.ts";
import { fakeClock, settleWork } from "./clock-fixture.ts";
import { createMirror, type MirrorLimits } from "./mirror.ts";

const HASH = Buffer.alloc(32, 1);
const caller = Caller.fromPartial({ keyId: "key_1", teamId: "team_1", organizationId: "org_1", userId: 7n, status: "active" });

type Answer = Omit<ResolveKeyResponse, "more">;

function open(limits: Partial<MirrorLimits> = {}) {
  const clock = fakeClock();
  const answers: (() => Promise<Answer>)[] = [];
  const state = { calls: 0, deadlines: [] as number[], answer: { caller, revision: 1n } as Answer };
  const access = {
    resolveKey: async (_request: unknown, { deadlineMs }: { deadlineMs: number }) => {
      state.calls++;
      state.deadlines.push(deadlineMs);
      const scripted = answers.shift();
      return { ...(scripted ? await scripted() : state.answer), more: [] };
    },
  };
  const mirror = createMirror({ access, clock, ageMsMax: 5000, limits });
  mirror.receive([]);
  return { clock, mirror, state, answers };
}

const fail = (code: "UNAVAILABLE" | "DB_TIMEOUT" | "SERVER_ERROR") => async () => {
  throw new AppError(code, "no");
};

test("the age of a mirror is the time since the last heartbeat", async () => {
  const { mirror, clock } = open();
  await clock.advance(1500);
  expect(mirror.ageMs()).toBe(1500);
  mirror.receive([]);
  expect(mirror.ageMs()).toBe(0);
});

test("a caller is asked for once, also by many at the same time", async () => {
  const { mirror, state } = open();
  await Promise.all(Array.from({ length: 20 }, () => mirror.findCaller(HASH)));
  expect(await mirror.findCaller(HASH)).toEqual(caller);
  expect(state.calls).toBe(1);
});

test.each([
  ["key", "key_1"],
  ["team", "team_1"],
  ["organization", "org_1"],
  ["user", "7"],
])("a change of its %s makes a caller asked for anew", async (kind, subject) => {
  const { mirror, state } = open();
  await mirror.findCaller(HASH);
  mirror.receive([{ revision: 2n, kind, subject: "somebody_else" }]);
  await mirror.findCaller(HASH);
  expect(state.calls).toBe(1);
  state.answer = { caller: undefined, revision: 3n };
  mirror.receive([{ revision: 3n, kind, subject }]);
  expect(await mirror.findCaller(HASH)).toBeUndefined();
  expect(state.calls).toBe(2);
});

test("without a heartbeat for the mirror's age no cached caller is used, and a failed lookup refuses the key", async () => {
  const { clock, mirror, state, answers } = open();
  await mirror.findCaller(HASH);
  await clock.advance(4999);
  await mirror.findCaller(HASH);
  expect(state.calls).toBe(1);
  // Execute: one millisecond more of silence.
  await clock.advance(1);
  await mirror.findCaller(HASH);
  await mirror.findCaller(HASH);
  // Assert: each request asks.
  expect(state.calls).toBe(3);
  answers.push(fail("UNAVAILABLE"), fail("UNAVAILABLE"));
  const refused = expect(mirror.findCaller(HASH)).rejects.toMatchObject({ code: "UNAVAILABLE", retryAfterSeconds: 1 });
  await clock.advance(200);
  await refused;
  // A sign of life, and it is believed again.
  mirror.receive([]);
  await mirror.findCaller(HASH);
  expect(state.calls).toBe(5);
});

test("one retry when the control plane cannot be reached, none when it says no", async () => {
  const { clock, mirror, state, answers } = open();
  answers.push(fail("UNAVAILABLE"));
  const found = mirror.findCaller(HASH);
  await clock.advance(100);
  expect(await found).toEqual(caller);
  expect(state.calls).toBe(2);
  mirror.dropAll();
  answers.push(fail("SERVER_ERROR"));
  await expect(mirror.findCaller(HASH)).rejects.toMatchObject({ code: "UNAVAILABLE" });
  expect(state.calls).toBe(3);
});

test("a look-up of a busy control plane gets three seconds before it is repeated, and the repetition no more than the rest of eight", async () => {
  const { mirror, clock, answers, state } = open();
  const first = Promise.withResolvers<void>();
  answers.push(async () => {
    await clock.advance(2_999);
    first.resolve();
    throw new AppError("DB_TIMEOUT", "late");
  });
  const found = mirror.findCaller(HASH);
  await first.promise;
  await settleWork();
  await clock.advance(100);
  expect(await found).toEqual(caller);
  expect(state.deadlines).toEqual([3_000, 3_000]);
});

test("an unknown key is remembered for a second at most, and not past the next change of a key", async () => {
  const { clock, mirror, state } = open();
  state.answer = { caller: undefined, revision: 1n };
  for (let repeat = 0; repeat < 5; repeat++) expect(await mirror.findCaller(HASH)).toBeUndefined();
  expect(state.calls).toBe(1);
  await clock.advance(1000);
  await mirror.findCaller(HASH);
  expect(state.calls).toBe(2);
  // A key made just now works at once.
  state.answer = { caller, revision: 2n };
  mirror.receive([{ revision: 2n, kind: "key", subject: "key_1" }]);
  expect(await mirror.findCaller(HASH)).toEqual(caller);
});

test("a change that overtakes an answer wins", async () => {
  const { mirror, state, answers } = open();
  let release: (answer: Answer) => void = () => {};
  answers.push(() => new Promise((resolve) => (release = resolve)));
  const found = mirror.findCaller(HASH);
  await settleWork();
  // Execute: the key is removed at revision 5 while an answer of revision 4 is on its way.
  mirror.receive([{ revision: 5n, kind: "key", subject: "key_1" }]);
  state.answer = { caller: undefined, revision: 5n };
  release({ caller, revision: 4n });
  // Assert
  expect(await found).toBeUndefined();
  expect(mirror.size()).toBe(0);
});

test("an answer newer than the change it crossed is cached", async () => {
  const { mirror, state, answers } = open();
  let release: (answer: Answer) => void = () => {};
  answers.push(() => new Promise((resolve) => (release = resolve)));
  const found = mirror.findCaller(HASH);
  await settleWork();
  mirror.receive([{ revision: 5n, kind: "team", subject: "team_1" }]);
  release({ caller, revision: 5n });
  expect(await found).toEqual(caller);
  expect([state.calls, mirror.size()]).toEqual([1, 1]);
});

test("an answer from before dropAll is not cached, nor one older than the oldest remembered change", async () => {
  const { mirror, state, answers } = open({ recentChangesMax: 2 });
  answers.push(async () => {
    mirror.dropAll();
    return { caller, revision: 9n };
  });
  await mirror.findCaller(HASH);
  expect(state.calls).toBe(2);
  mirror.dropAll();
  mirror.receive([1n, 2n, 3n, 4n].map((revision) => ({ revision: revision + 10n, kind: "team", subject: "t" })));
  state.answer = { caller, revision: 11n };
  expect(await mirror.findCaller(HASH)).toEqual(caller);
  expect([state.calls, mirror.size()]).toEqual([5, 0]);
});

test("an expired key has no caller, without a request", async () => {
  const { clock, mirror, state } = open();
  state.answer = { caller: { ...caller, expiresAt: new Date(clock.now() + 2000) }, revision: 1n };
  expect(await mirror.findCaller(HASH)).toBeDefined();
  await clock.advance(2000);
  expect(await mirror.findCaller(HASH)).toBeUndefined();
  expect(state.calls).toBe(1);
});

test("the least recently used caller makes room", async () => {
  const { mirror, state } = open({ callersMax: 2 });
  const [first, second, third] = [1, 2, 3].map((fill) => Buffer.alloc(32, fill)) as [Buffer, Buffer, Buffer];
  for (const hash of [first, second, first, third]) await mirror.findCaller(hash);
  expect([state.calls, mirror.size()]).toEqual([3, 2]);
  await mirror.findCaller(first);
  expect(state.calls).toBe(3);
  await mirror.findCaller(second);
  expect(state.calls).toBe(4);
});

test("while the store has no primary cached callers are used for 30 s, and not without a heartbeat", async () => {
  const { mirror, clock } = open();
  mirror.receive([]);
  for (let second = 0; second < 29; second++) {
    await clock.advance(1000);
    mirror.receive([], { noPrimary: true });
    expect(mirror.isAlive()).toBe(true);
  }
  await clock.advance(1000);
  mirror.receive([], { noPrimary: true });
  expect(mirror.isAlive()).toBe(false);
  mirror.receive([]);
  expect(mirror.isAlive()).toBe(true);
});
