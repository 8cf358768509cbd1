import fc from "fast-check";
import type { Clock } from "../../common/clock.ts";
import type { AppError } from "../../common/errors.ts";
import type { RateLimits } from "../domain/records.ts";
import { RateLimiter, type RateSubject } from "./rate-limiter.ts";

function open() {
  let now = 1_000_000;
  const clock: Clock = { now: () => now, monotonicMs: () => now, sleep: async () => {}, after: () => () => {} };
  return {
    limiter: new RateLimiter(clock),
    now: () => now,
    pass: (ms: number) => {
      now += ms;
    },
  };
}

const subject = (kind: RateSubject["kind"], id: string, limits: RateLimits): RateSubject => ({ kind, id, limits });

function refusalOf(work: () => unknown): AppError | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    return error as AppError;
  }
}

interface Call {
  subjects: readonly RateSubject[];
  at: number;
  tokens: number;
  running: boolean;
}

test("no subject's requests, tokens or parallel calls ever exceed its limits, for any interleaving of calls of many subjects", () => {
  const optional = (max: number) => fc.option(fc.integer({ min: 1, max }), { nil: undefined });
  const limits = fc.record({ rpm: optional(6), tpm: optional(40), maxParallelRequests: optional(3) });
  const step = fc.record({
    // Which of two keys, users and models is meant: calls share some subjects and not others.
    picks: fc.tuple(fc.nat(1), fc.nat(1), fc.nat(1)),
    tokens: fc.integer({ min: 1, max: 20 }),
    endFirst: fc.boolean(),
    passMs: fc.integer({ min: 0, max: 15_000 }),
  });
  fc.assert(
    fc.property(fc.array(limits, { minLength: 8, maxLength: 8 }), fc.array(step, { maxLength: 80 }), (given, steps) => {
      const world = open();
      const all = (["key", "key", "user", "user", "model", "model", "team", "organization"] as const).map((kind, index) =>
        subject(kind, String(index), JSON.parse(JSON.stringify(given[index] ?? {})) as RateLimits),
      );
      const calls: Call[] = [];
      for (const { picks, tokens, endFirst, passMs } of steps) {
        world.pass(passMs);
        const done = endFirst ? calls.find(({ running }) => running) : undefined;
        if (done) {
          done.running = false;
          world.limiter.end(done.subjects);
        }
        const subjects = [0 + picks[0], 2 + picks[1], 4 + picks[2], 6, 7].flatMap((index) => all[index] ?? []);
        if (refusalOf(() => world.limiter.check(subjects, tokens))) continue;
        world.limiter.begin(subjects, tokens);
        calls.push({ subjects, at: world.now(), tokens, running: true });
        for (const each of subjects) expectWithin(each, calls, world.now());
      }
    }),
  );
});

function expectWithin(each: RateSubject, calls: readonly Call[], now: number): void {
  const own = calls.filter(({ subjects }) => subjects.includes(each));
  // Buckets are whole seconds, so the minute is exact to one second.
  const minute = own.filter(({ at }) => at > now - 59_000);
  const { rpm, tpm, maxParallelRequests } = each.limits;
  if (rpm !== undefined) expect(minute.length).toBeLessThanOrEqual(rpm);
  if (maxParallelRequests !== undefined) expect(own.filter(({ running }) => running).length).toBeLessThanOrEqual(maxParallelRequests);
  // A call above the whole limit is let into an empty minute, and then alone.
  const tokens = minute.reduce((sum, call) => sum + call.tokens, 0);
  if (tpm !== undefined && minute.length > 1) expect(tokens).toBeLessThanOrEqual(tpm);
}

test("the tightest limit of each unit over all subjects is reported; a refusal names the one with the longest wait", () => {
  const { limiter, pass } = open();
  const key = subject("key", "k", { rpm: 10, tpm: 100 });
  const model = subject("model", "m", { rpm: 2 });
  expect(limiter.check([key, model], 30)).toEqual({
    limitRequests: 2,
    remainingRequests: 1,
    limitTokens: 100,
    remainingTokens: 70,
    resetSeconds: 60,
  });
  limiter.begin([key, model], 90);
  pass(30_000);
  limiter.begin([key, model], 5);
  // The model lets the next one in after 30 s; the key's tokens, of the first call too.
  const error = refusalOf(() => limiter.check([key, model, subject("user", "u", { maxParallelRequests: 0 })], 96));
  expect(error).toMatchObject({
    message: "The key's limit of 100 tokens per minute is reached. Try again in 60 s.",
    retryAfterSeconds: 60,
    rate: { limitRequests: 2, remainingRequests: 0, limitTokens: 100, remainingTokens: 5, resetSeconds: 60 },
  });
});

test("calls that run when a limit is set count against it", () => {
  const { limiter } = open();
  limiter.begin([subject("user", "u", {})], 1);
  expect(refusalOf(() => limiter.check([subject("user", "u", { maxParallelRequests: 1 })], 1))).toMatchObject({
    code: "RATE_LIMIT_EXCEEDED",
  });
});

test("pruning forgets idle subjects only", () => {
  const { limiter, pass } = open();
  const key = subject("key", "k", { rpm: 1 });
  limiter.begin([key], 1);
  pass(30_000);
  limiter.prune();
  expect(refusalOf(() => limiter.check([key], 1))).toBeDefined();
  pass(31_000);
  limiter.prune();
  expect(limiter.check([key], 1)).toMatchObject({ remainingRequests: 0 });
});

test("an edge gets a sixteenth of the parallel calls that remain, which count as running until it returns them, its process is dead or the organization is elsewhere", () => {
  const { limiter, pass } = open();
  const organization = subject("organization", "o", { maxParallelRequests: 160 });
  const remaining = () => limiter.readings([organization], 1)[0]?.remaining;
  const ask = (callId: string, edgeId: string) =>
    limiter.permit(callId, [organization], { requests: 100, tokens: 100, parallel: 50, edgeId });
  expect(limiter.permit("call_0", [organization], { requests: 100, tokens: 100 })).toBeUndefined();
  expect(ask("call_1", "edge_1")).toMatchObject({ parallel: 10 });
  expect(ask("call_2", "edge_2")).toMatchObject({ parallel: 9 });
  expect(ask("call_3", "edge_1")).toMatchObject({ parallel: 8 });
  expect(remaining()).toBe(133);
  // Totals: a message that arrives twice or late changes nothing.
  for (const parallel of [4, 4, 3]) limiter.takeBack("call_1", { requests: 0, tokens: 0, parallel });
  expect(remaining()).toBe(137);
  pass(70_000);
  limiter.prune();
  limiter.endPermits(({ edgeId }) => edgeId === "edge_1");
  expect(remaining()).toBe(151);
  limiter.takeBack("call_1", { requests: 0, tokens: 0, parallel: 10 });
  expect(remaining()).toBe(151);
  limiter.endPermits(({ organizationId }) => organizationId === "o");
  expect(remaining()).toBe(160);
});

test("a permit that was never returned ends when none of its calls can run, and an answer that was lost costs nothing", () => {
  const { limiter, pass } = open();
  const key = subject("key", "k", { maxParallelRequests: 100 });
  const remaining = () => limiter.readings([key], 1)[0]?.remaining;
  const ask = () => limiter.permit("call_1", [key], { requests: 100, tokens: 100, parallel: 50 });
  ask();
  expect(remaining()).toBe(94);
  // The second permit replaces the first.
  ask();
  expect(remaining()).toBe(94);
  pass(60 * 60_000);
  limiter.prune();
  expect(remaining()).toBe(94);
  pass(5 * 60_000);
  limiter.prune();
  expect(remaining()).toBe(100);
});

test("of a small limit of parallel calls no permit is granted: each call is reserved by itself", () => {
  const { limiter } = open();
  const key = subject("key", "k", { maxParallelRequests: 63 });
  expect(limiter.permit("call_1", [key], { requests: 100, tokens: 100, parallel: 50 })).toBeUndefined();
});

test("an answer counts in the minute in which it ends, however long its call took and whatever was pruned meanwhile", () => {
  const { limiter, pass } = open();
  const key = subject("key", "k", { tpm: 1000 });
  const run = (minutes: number) => {
    limiter.begin([key], 10);
    for (let second = 0; second < minutes * 60; second += 10) {
      pass(10_000);
      limiter.prune();
    }
    limiter.end([key]);
    limiter.addTokens(["key:k", "model:m"], 5000);
    limiter.prune();
  };
  for (const minutes of [1.5, 30]) {
    run(minutes);
    expect(refusalOf(() => limiter.check([key], 10))).toMatchObject({ code: "RATE_LIMIT_EXCEEDED" });
    pass(61_000);
    limiter.prune();
    expect(refusalOf(() => limiter.check([key], 10))).toBeUndefined();
  }
  pass(2 * 3_600_000);
  limiter.prune();
  expect(limiter.tokenLimits.size).toBe(0);
});

test("a refusal for parallel calls names the limit, so that others are not refused for it", () => {
  const { limiter } = open();
  const key = subject("key", "k", { maxParallelRequests: 1 });
  limiter.begin([key], 1);
  expect(refusalOf(() => limiter.check([key], 1))).toMatchObject({ holder: "calls", limit: "key:k" });
});
