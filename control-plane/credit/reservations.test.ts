import { Readable } from "node:stream";
import fc from "fast-check";
import type { Clock } from "../../common/clock.ts";
import { silentLogger } from "../../common/logger.ts";
import type { Budget, BudgetUse } from "../domain/budget-records.ts";
import { emptyAccount, organizationAccount } from "../domain/ledger.ts";
import { NotOwner } from "../domain/not-owner.ts";
import type { Account, ApiKey, Lease, RateLimits, Team, UsageRow } from "../domain/records.ts";
import type { Reader } from "../stores/store.ts";
import { Reservations } from "./reservations.ts";

const team: Team = { id: "team_1", name: "t", nameKey: "t", organizationId: "org_1", createdAt: 1, updatedAt: 1 };
const key: ApiKey = {
  id: "key_1",
  hash: "h",
  name: "k",
  maskedKey: "m",
  teamId: "team_1",
  organizationId: "org_1",
  createdBy: 1,
  createdAt: 1,
};

interface World {
  balance: bigint;
  team?: Partial<Team>;
  key?: Partial<ApiKey>;
  organization?: RateLimits & Budget;
  user?: RateLimits & Budget;
  model?: RateLimits & Budget;
  spend?: bigint;
  leases?: Lease[];
  budgetUses?: BudgetUse[];
  policy?: "document" | "strict";
  shadow?: string[];
}

const shadowOf = (log: string[] | undefined) =>
  log
    ? { budgets: { mode: "shadow" as const, logger: { ...silentLogger, warn: (facts: object) => void log.push(JSON.stringify(facts)) } } }
    : {};

function open(world: World) {
  let now = 0;
  const clock: Clock = { now: () => now, monotonicMs: () => now, sleep: async () => {}, after: () => () => {} };
  const account: Account = { ...emptyAccount(organizationAccount("org_1")), balance: world.balance };
  const records: Record<string, unknown> = {
    teams: { ...team, ...world.team },
    keys: { ...key, ...world.key },
    accounts: account,
    organizations: { id: "org_1", ...world.organization },
    users: { id: 7, ...world.user },
    models: { id: "model_1", name: "m", ...world.model },
    keyUses: { id: "key_1", spend: world.spend ?? 0n, lastUsedAt: 0 },
  };
  const read = async (collection: string) => records[collection];
  const reader = {
    get: read,
    find: read,
    getMany: async () => world.budgetUses ?? [],
    scan: () => Readable.from(world.leases ?? []),
  } as unknown as Reader;
  const modelOf = async (deploymentId: string) => (deploymentId === "dep_1" ? "m" : undefined);
  const reservations = new Reservations({ reader, clock, policy: world.policy ?? "document", modelOf, ...shadowOf(world.shadow) });
  let calls = 0;
  return {
    reservations,
    pass: (ms: number) => {
      now += ms;
    },
    settle: (callId: string, cost: bigint) => {
      account.balance -= cost;
      reservations.release(callId);
    },
    grow: (callId: string, more: bigint) => {
      const call = { callId, keyId: "key_1", teamId: "team_1", organizationId: "org_1", userId: 7, model: "m", tokens: 1 };
      return reservations.reserve({ ...call, worstCase: more, isGrowth: true }).then(({ reserved }) => reserved);
    },
    reserve: (worstCase: bigint, tokens = 1, callId = `call_${calls++}`) => {
      return reservations
        .reserve({ callId, keyId: "key_1", teamId: "team_1", organizationId: "org_1", userId: 7, model: "m", worstCase, tokens })
        .then(({ reserved, rate }) => ({ callId, reserved, rate }));
    },
  };
}

test("document policy: admitted while anything is available, with the worst case or all that is left; then QUOTA_EXCEEDED", async () => {
  const { reserve } = open({ balance: 10n });
  expect((await reserve(6n)).reserved).toBe(6n);
  expect((await reserve(6n)).reserved).toBe(4n);
  await expect(reserve(1n)).rejects.toMatchObject({ code: "QUOTA_EXCEEDED" });
  expect((await reserve(0n)).reserved).toBe(0n);
});

test("strict policy: a call whose worst case does not fit is refused", async () => {
  const { reserve } = open({ balance: 10n, policy: "strict" });
  expect((await reserve(6n)).reserved).toBe(6n);
  await expect(reserve(5n)).rejects.toMatchObject({ code: "QUOTA_EXCEEDED" });
  expect((await reserve(4n)).reserved).toBe(4n);
});

test("a running call grows by what is left of credit and budgets, counts against no limit again, and gives all of it back", async () => {
  const world = open({ balance: 20n, key: { rpm: 1 }, team: { maxBudget: 15n } });
  const { callId } = await world.reserve(6n);
  expect(await world.grow(callId, 6n)).toBe(6n);
  expect(await world.grow(callId, 6n)).toBe(3n);
  expect(world.reservations.reservedOf("org_1")).toBe(15n);
  await expect(world.grow(callId, 1n)).rejects.toMatchObject({ code: "QUOTA_EXCEEDED" });
  world.settle(callId, 15n);
  expect(world.reservations.reservedOf("org_1")).toBe(0n);
});

test("a call that grows after its control plane was lost is held anew", async () => {
  const world = open({ balance: 20n });
  expect(await world.grow("call_before", 6n)).toBe(6n);
  expect(world.reservations.reservedOf("org_1")).toBe(6n);
  world.settle("call_before", 10n);
  expect(world.reservations.reservedOf("org_1")).toBe(0n);
});

test("a blocked team is refused as blocked, whatever its balance and even for free calls", async () => {
  await expect(open({ balance: -1n, team: { blockedByQuotaAt: 1 } }).reserve(1n)).rejects.toMatchObject({ code: "TEAM_BLOCKED" });
  await expect(open({ balance: 99n, team: { blockedByAdminAt: 1 } }).reserve(0n)).rejects.toMatchObject({ code: "TEAM_BLOCKED" });
});

test("never more is set aside than the balance, for any interleaving of calls and settlements", async () => {
  const steps = fc.array(fc.record({ worst: fc.bigInt({ min: 1n, max: 50n }), settleFirst: fc.boolean(), share: fc.nat(100) }), {
    maxLength: 60,
  });
  await fc.assert(
    fc.asyncProperty(steps, async (given) => {
      const world = open({ balance: 200n });
      const running: { callId: string; reserved: bigint }[] = [];
      let spent = 0n;
      for (const { worst, settleFirst, share } of given) {
        const done = settleFirst ? running.shift() : undefined;
        if (done) {
          const cost = (done.reserved * BigInt(share)) / 100n;
          spent += cost;
          world.settle(done.callId, cost);
        }
        const made = await world.reserve(worst).catch(() => undefined);
        if (made) running.push(made);
        const held = running.reduce((sum, { reserved }) => sum + reserved, 0n);
        expect(world.reservations.reservedOf("org_1")).toBe(held);
        expect(held + spent <= 200n).toBe(true);
      }
    }),
  );
});

test("a reservation that is never settled is released after its time, once", async () => {
  const world = open({ balance: 10n });
  await world.reserve(10n);
  // A session may take an hour, and what it holds must not be given to another call.
  world.pass(60 * 60_000);
  expect(world.reservations.expire()).toBe(0);
  world.pass(5 * 60_000 + 1);
  expect([world.reservations.expire(), world.reservations.expire(), world.reservations.reservedOf("org_1")]).toEqual([1, 0, 0n]);
});

test("the reservations of a dead edge, whose calls are settled, are released at once, and no others", async () => {
  const { reservations } = open({ balance: 10n, user: { maxParallelRequests: 2 } });
  const input = { keyId: "key_1", teamId: "team_1", organizationId: "org_1", userId: 7, model: "m", worstCase: 4n, tokens: 1 };
  await reservations.reserve({ ...input, callId: "call_1", edgeId: "edge_1" });
  await reservations.reserve({ ...input, callId: "call_2", edgeId: "edge_2" });
  reservations.endEdges(["edge_1"]);
  expect([reservations.size, reservations.reservedOf("org_1")]).toEqual([1, 4n]);
  await reservations.reserve({ ...input, callId: "call_3", edgeId: "edge_2" });
});

test("a call that is asked for again and refused keeps what it was given the first time", async () => {
  const world = open({ balance: 10n });
  const { callId } = await world.reserve(4n);
  let leased = world.reservations.withhold("org_1", 10n);
  let isOver = false;
  const refused = expect(world.reserve(4n, 1, callId)).rejects.toMatchObject({ code: "QUOTA_EXCEEDED" });
  void refused.finally(() => {
    isOver = true;
  });
  // One lease after the other is being written; the call does not wait for ever.
  while (!isOver) {
    const next = world.reservations.withhold("org_1", 10n);
    leased();
    leased = next;
    await new Promise((resolve) => setImmediate(resolve));
  }
  await refused;
  leased();
  expect(world.reservations.reservedOf("org_1")).toBe(4n);
});

test("requests, tokens and parallel calls of a key are limited, and the refusal says when to come back", async () => {
  const minute = open({ balance: 1000n, key: { rpm: 2 } });
  const first = await minute.reserve(1n);
  expect(first.rate).toMatchObject({ limitRequests: 2, remainingRequests: 1 });
  await minute.reserve(1n);
  const refused = await minute.reserve(1n).catch((error: unknown) => error as { code: string; retryAfterSeconds: number });
  expect(refused).toMatchObject({ code: "RATE_LIMIT_EXCEEDED" });
  minute.pass(60_000);
  await minute.reserve(1n);
  await expect(open({ balance: 1000n, key: { maxParallelRequests: 1 } }).reserve(1n)).resolves.toBeDefined();
  const parallel = open({ balance: 1000n, key: { maxParallelRequests: 1 } });
  const running = await parallel.reserve(1n);
  await expect(parallel.reserve(1n)).rejects.toMatchObject({ code: "RATE_LIMIT_EXCEEDED" });
  parallel.settle(running.callId, 1n);
  await parallel.reserve(1n);
  const tokens = open({ balance: 1000n, team: { tpm: 100 } });
  await tokens.reserve(1n, 80);
  await expect(tokens.reserve(1n, 30)).rejects.toMatchObject({ code: "RATE_LIMIT_EXCEEDED" });
});

test("a key's budget caps what its calls may set aside", async () => {
  const { reserve } = open({ balance: 1000n, key: { maxBudget: 30n }, spend: 20n });
  expect((await reserve(25n)).reserved).toBe(10n);
  await expect(reserve(1n)).rejects.toMatchObject({ code: "QUOTA_EXCEEDED" });
});

test.each(["key", "team", "organization", "user", "model"] as const)("the limits of a %s hold, and the refusal names it", async (owner) => {
  const requests = open({ balance: 1000n, [owner]: { rpm: 1 } });
  expect((await requests.reserve(1n)).rate).toMatchObject({ limitRequests: 1, remainingRequests: 0 });
  await expect(requests.reserve(1n)).rejects.toMatchObject({
    code: "RATE_LIMIT_EXCEEDED",
    message: `The ${owner}'s limit of 1 requests per minute is reached. Try again in 60 s.`,
    details: [],
    retryAfterSeconds: 60,
    rate: { limitRequests: 1, remainingRequests: 0, resetSeconds: 60 },
  });
  const tokens = open({ balance: 1000n, [owner]: { tpm: 10 } });
  await tokens.reserve(1n, 7);
  await expect(tokens.reserve(1n, 4)).rejects.toMatchObject({ rate: { limitTokens: 10, remainingTokens: 3 } });
  const parallel = open({ balance: 1000n, [owner]: { maxParallelRequests: 1 } });
  const { callId } = await parallel.reserve(1n);
  await expect(parallel.reserve(1n)).rejects.toThrow(`The ${owner}'s limit of 1 call(s) at once is reached.`);
  parallel.settle(callId, 1n);
  await parallel.reserve(1n);
});

test("a refusal for want of credit, or by another's limit, takes nothing from any limit", async () => {
  const poor = open({ balance: 0n, key: { rpm: 1 } });
  await expect(poor.reserve(1n)).rejects.toMatchObject({ code: "QUOTA_EXCEEDED" });
  expect((await poor.reserve(0n)).rate).toMatchObject({ remainingRequests: 0 });
  const bounded = open({ balance: 1000n, key: { rpm: 3 }, model: { tpm: 10 } });
  await bounded.reserve(1n, 10);
  for (let refused = 0; refused < 5; refused++) await expect(bounded.reserve(1n, 10)).rejects.toThrow("The model's limit");
  bounded.pass(60_000);
  expect((await bounded.reserve(1n, 1)).rate).toMatchObject({ limitRequests: 3, remainingRequests: 2 });
});

test.each(["m", "an alias of it"])(
  "a model's limit of tokens counts the answer of a call that no longer is known and named %s",
  async (model) => {
    const world = open({ balance: 1000n, model: { tpm: 100 } });
    await world.reserve(1n, 10);
    const usage = { input: 10, output: 500 };
    const row = { id: "call_other", apiKeyId: "key_1", teamId: "team_1", organizationId: "org_1", model, deploymentId: "dep_1", usage };
    world.reservations.countAnswers([row as UsageRow]);
    await new Promise((resolve) => setImmediate(resolve));
    await expect(world.reserve(1n)).rejects.toThrow("The model's limit of 100 tokens per minute is reached.");
  },
);

test("the same call asked for again holds one place, not two", async () => {
  const { reservations } = open({ balance: 1000n, user: { maxParallelRequests: 1 } });
  const input = {
    callId: "call_x",
    keyId: "key_1",
    teamId: "team_1",
    organizationId: "org_1",
    userId: 7,
    model: "m",
    worstCase: 5n,
    tokens: 1,
  };
  await reservations.reserve(input);
  await reservations.reserve(input);
  expect(reservations.reservedOf("org_1")).toBe(5n);
  await expect(reservations.reserve({ ...input, callId: "call_y" })).rejects.toMatchObject({ code: "RATE_LIMIT_EXCEEDED" });
  reservations.release("call_x");
  await reservations.reserve({ ...input, callId: "call_y" });
});

test("a permit comes with a call that the store answers soon, and with none that it answers late: its edge would not return it", async () => {
  const { reservations, pass } = open({ balance: 1000n, key: { maxParallelRequests: 1000 } });
  const owners = { keyId: "key_1", teamId: "team_1", organizationId: "org_1", userId: 7, model: "m" };
  const ahead = { requests: 10, tokens: 10, parallel: 10 };
  const soon = await reservations.reserve({ ...owners, callId: "call_soon", worstCase: 5n, tokens: 1, ahead });
  expect(soon.permit).toMatchObject({ requests: 10, parallel: 10 });
  const late = reservations.reserve({ ...owners, callId: "call_late", worstCase: 5n, tokens: 1, ahead });
  pass(1_000);
  expect((await late).permit).toBeUndefined();
});

test("credit that edges hold is not given twice; a lease that ran out, and what was spent or given back of one, is", async () => {
  const lease: Lease = {
    id: "e/org_1",
    edgeId: "e",
    organizationId: "org_1",
    generation: 1,
    granted: 100n,
    settled: 20n,
    released: 10n,
    expiresAt: 1000,
  };
  const world = open({ balance: 100n, leases: [lease, { ...lease, id: "dead/org_1", expiresAt: 0 }] });
  expect((await world.reserve(50n)).reserved).toBe(30n);
  await expect(world.reserve(1n)).rejects.toMatchObject({ code: "QUOTA_EXCEEDED" });
});

test("while a lease is on its way into the store, calls do not find its credit", async () => {
  const world = open({ balance: 100n });
  const done = world.reservations.withhold("org_1", 90n);
  expect((await world.reserve(50n)).reserved).toBe(10n);
  done();
  expect((await world.reserve(50n)).reserved).toBe(50n);
});

test("a call that such a lease leaves nothing for waits until it is written, and is not refused for what it did not get", async () => {
  const world = open({ balance: 100n });
  const done = world.reservations.withhold("org_1", 500n);
  const asked = world.reserve(50n);
  await new Promise((resolve) => setImmediate(resolve));
  done();
  expect((await asked).reserved).toBe(50n);
});

describe("budgets", () => {
  const DAY_MS = 24 * 3_600_000;

  test.each([
    ["team", "team"],
    ["organization", "organization"],
    ["user", "user"],
    ["model", "model"],
  ] as const)("of the %s: holds what is left for all its calls together, and then names whose it is", async (kind, field) => {
    const id = { team: "team_1", organization: "org_1", user: "7", model: "model_1" }[kind];
    const budgetUses = [{ id: `${kind}:${id}`, period: "daily" as const, startsAt: 0, spend: 4n }];
    const world = { balance: 100n, [field]: { maxBudget: 10n, budgetPeriod: "daily" }, budgetUses };
    const { reserve, reservations } = open(world);
    const first = await reserve(5n);
    expect(first.reserved).toBe(5n);
    // One is left, and the call gets it.
    expect((await reserve(5n)).reserved).toBe(1n);
    await expect(reserve(1n)).rejects.toMatchObject({
      code: "QUOTA_EXCEEDED",
      message: expect.stringContaining(`The ${kind}'s daily budget is used up`),
    });
    // What costs nothing passes, and what is given back can be had again.
    expect((await reserve(0n)).reserved).toBe(0n);
    reservations.release(first.callId);
    expect((await reserve(9n)).reserved).toBe(5n);
  });

  test("starts again with its period", async () => {
    const budgetUses = [{ id: "team:team_1", period: "daily" as const, startsAt: 0, spend: 10n }];
    const { reserve, pass } = open({ balance: 100n, team: { maxBudget: 10n, budgetPeriod: "daily" }, budgetUses });
    await expect(reserve(1n)).rejects.toMatchObject({ message: expect.stringContaining("1970-01-02T00:00:00.000Z") });
    pass(DAY_MS);
    expect((await reserve(20n)).reserved).toBe(10n);
  });

  test("of several the tightest holds", async () => {
    const { reserve } = open({ balance: 100n, key: { maxBudget: 30n }, team: { maxBudget: 20n }, organization: { maxBudget: 25n } });
    expect((await reserve(50n)).reserved).toBe(20n);
    await expect(reserve(1n)).rejects.toMatchObject({ message: expect.stringContaining("The team's budget") });
  });

  test("a key's budget with a period is held against the period, not against all it ever spent", async () => {
    const key = { maxBudget: 10n, budgetPeriod: "daily" as const };
    const { reserve } = open({
      balance: 100n,
      spend: 1_000n,
      key,
      budgetUses: [{ id: "key:key_1", period: "daily", startsAt: 0, spend: 3n }],
    });
    expect((await reserve(50n)).reserved).toBe(7n);
  });

  test("in shadow mode they are evaluated and logged, and refuse no call", async () => {
    const shadow: string[] = [];
    const { reserve } = open({ balance: 100n, team: { maxBudget: 10n }, shadow });
    expect((await reserve(50n)).reserved).toBe(50n);
    expect(shadow.map((line) => JSON.parse(line))).toEqual([
      { kind: "team", id: "team_1", maxBudget: "10", spend: "0", held: "0", wanted: "50" },
    ]);
  });
});

test("what is reserved of an organization that another control plane owns by now is forgotten, and nothing more is reserved", async () => {
  let isOwner = true;
  const reader = { get: async () => team, find: async () => undefined, getMany: async () => [], scan: () => Readable.from([]) };
  const reservations = new Reservations({
    reader: reader as unknown as Reader,
    clock: { now: () => 0, monotonicMs: () => 0, sleep: async () => {}, after: () => () => {} },
    policy: "document",
    requireOwner: () => {
      if (!isOwner) throw new NotOwner(7);
    },
  });
  const call = { keyId: "key_1", teamId: "team_1", model: "m", worstCase: 0n, tokens: 1 };
  await reservations.reserve({ ...call, callId: "call_1", organizationId: "org_1" });
  await reservations.reserve({ ...call, callId: "call_2", organizationId: "org_2" });
  reservations.forget((organizationId) => organizationId === "org_1");
  expect(reservations.size).toBe(1);
  isOwner = false;
  await expect(reservations.reserve({ ...call, callId: "call_3", organizationId: "org_1" })).rejects.toBeInstanceOf(NotOwner);
  expect(reservations.size).toBe(1);
});
