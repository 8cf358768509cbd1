import { setTimeout as sleep } from "node:timers/promises";
import { type Answer, buy, type CallOptions, call, chat, newTenant, type Tenant } from "../../helpers/api.ts";
import { type System, startSystem } from "../../helpers/system.ts";
import { isThorough } from "../../helpers/thorough.ts";
import { allPages, expectConsistentLedger, printedSeed, printLine, seededRandom, sum } from "../ledger-checks.ts";

const KILLS = isThorough ? 12 : 6;
const FIRST_CREDIT = 10_000_000_000;
/** A write is repeated under its Idempotency-Key for at most this long; a restart takes about a second. */
const PATIENCE_MS = 15_000;

let system: System;
beforeAll(async () => {
  system = await startSystem();
});
afterAll(() => system?.stop());

/** What was answered with success, by name or id. */
interface Acknowledged {
  teams: Map<string, string>;
  keys: Map<string, { teamId: string; secret: string }>;
  purchases: Map<string, number>;
  /** Amounts asked for under an Idempotency-Key; each is unique. */
  amountsAsked: number[];
  calls: Map<string, number>;
  /** Writes and calls that ended without an answer or with an error. */
  unanswered: number;
  /** How often a write was repeated, by the status that it was refused with. */
  repeats: Record<string, number>;
}

test(`after ${KILLS} kills of the control plane under load, everything acknowledged is there exactly once and nothing is half there`, async () => {
  const random = seededRandom(printedSeed("kill -9 of the control plane"));
  const tenant = await newTenant(system, { creditNano: FIRST_CREDIT });
  const done: Acknowledged = {
    teams: new Map(),
    keys: new Map(),
    purchases: new Map(),
    amountsAsked: [],
    calls: new Map(),
    unanswered: 0,
    repeats: {},
  };
  const killing = new AbortController();
  const writers = [
    writeUntil(killing.signal, tenant, done, 1),
    writeUntil(killing.signal, tenant, done, 2),
    ...[1, 2, 3].map(() => callUntil(killing.signal, tenant, done)),
  ];
  const [restartsMs, outagesMs]: [number[], number[]] = [[], []];
  for (let kill = 0; kill < KILLS; kill++) {
    // At a random moment of work, not of recovery: killing an idle process proves nothing.
    await sleep(random() * 500);
    const startedAt = performance.now();
    await system.killControlPlane();
    restartsMs.push(Math.round(performance.now() - startedAt));
    const before = done.calls.size;
    while (done.calls.size === before && performance.now() - startedAt < PATIENCE_MS) await sleep(5);
    outagesMs.push(Math.round(performance.now() - startedAt));
    await progressOf(done);
  }
  await sleep(300);
  killing.abort();
  await Promise.all(writers);
  await untilSettled();
  printLine(
    `kill -9 of the control plane: ${KILLS} kills, restarts ${Math.min(...restartsMs)} to ${Math.max(...restartsMs)} ms, ` +
      `from kill to the next paid answer ${Math.min(...outagesMs)} to ${Math.max(...outagesMs)} ms`,
  );
  expect(Math.max(...outagesMs)).toBeLessThan(PATIENCE_MS);
  printLine(
    `kill -9 of the control plane: acknowledged ${done.teams.size} teams, ${done.keys.size} keys, ${done.purchases.size} purchases, ` +
      `${done.calls.size} calls; ${done.unanswered} without success, repeats of writes by status ${JSON.stringify(done.repeats)}`,
  );
  for (const { size } of acknowledgedOf(done)) expect(size).toBeGreaterThanOrEqual(KILLS);
  await checkManagement(tenant, done);
  await checkMoney(tenant, done);
}, 240_000);

const acknowledgedOf = ({ teams, keys, purchases, calls }: Acknowledged) => [teams, keys, purchases, calls];

/** Waits until there is one more of each kind, so that the next kill hits all of them at work, on a busy machine, too. */
async function progressOf(done: Acknowledged): Promise<void> {
  const before = acknowledgedOf(done).map(({ size }) => size);
  const deadlineMs = performance.now() + PATIENCE_MS;
  while (acknowledgedOf(done).some(({ size }, kind) => size <= (before[kind] as number)) && performance.now() < deadlineMs) await sleep(5);
}

async function checkManagement(tenant: Tenant, done: Acknowledged): Promise<void> {
  const teams = await allPages<{ id: string; name: string; keyCount: number }>(system, tenant.token, "/api/gw/teams");
  expect(new Set(teams.map(({ name }) => name)).size).toBe(teams.length);
  const teamNames = new Map(teams.map(({ id, name }) => [name, id]));
  for (const [name, id] of done.teams) expect([name, teamNames.get(name)]).toEqual([name, id]);

  const keys = await allPages<{ id: string; name: string; teamId: string }>(system, tenant.token, "/api/api-keys");
  expect(new Set(keys.map(({ name }) => name)).size).toBe(keys.length);
  const keyTeams = new Map(keys.map(({ id, teamId }) => [id, teamId]));
  for (const [id, { teamId }] of done.keys) expect([id, keyTeams.get(id)]).toEqual([id, teamId]);
  // No half-written record: every key's team exists and counts it, and every acknowledged secret works.
  for (const { id, keyCount } of teams) expect(keys.filter(({ teamId }) => teamId === id)).toHaveLength(keyCount);
  expect(keys.filter(({ teamId }) => !teams.some(({ id }) => id === teamId))).toEqual([]);
  for (const { secret } of done.keys.values()) {
    expect((await call(system.url, "GET", "/v1/models", { key: secret })).status).toBe(200);
  }
}

async function checkMoney(tenant: Tenant, done: Acknowledged): Promise<void> {
  const { logs, entries, balance } = await expectConsistentLedger(system, tenant.token);
  const purchases = await allPages<{ id: string; amount: number }>(system, tenant.token, "/api/credits/purchases");
  const stored = new Map(purchases.map(({ id, amount }) => [id, amount]));
  for (const [id, amount] of done.purchases) expect([id, stored.get(id)]).toEqual([id, amount]);
  expect(
    entries
      .filter(({ type }) => type === "purchase")
      .map(({ purchaseId, amount }) => `${purchaseId} ${amount}`)
      .toSorted(),
  ).toEqual(purchases.map(({ id, amount }) => `${id} ${amount}`).toSorted());
  // However often each was repeated, there is one purchase of each amount asked for.
  expect(purchases.map(({ amount }) => amount).toSorted((left, right) => left - right)).toEqual(
    [FIRST_CREDIT, ...done.amountsAsked].toSorted((left, right) => left - right),
  );
  const logged = new Map(logs.map(({ callId, cost }) => [callId, cost]));
  for (const [callId, cost] of done.calls) expect([callId, logged.get(callId)]).toEqual([callId, cost]);
  const lost = logs.filter(({ callId }) => !done.calls.has(callId));
  expect(balance).toBe(sum(purchases.map(({ amount }) => amount)) - sum([...done.calls.values()]) - sum(lost.map(({ cost }) => cost)));
  printLine(`kill -9 of the control plane: ${lost.length} calls are in the log whose answer was lost`);
}

/** Teams, keys in them and purchases, each under an Idempotency-Key and repeated until it is answered. */
async function writeUntil(signal: AbortSignal, tenant: Tenant, done: Acknowledged, writer: number): Promise<void> {
  for (let count = 0; !signal.aborted; count++) {
    const name = `team ${writer}-${count}`;
    const team = await acknowledged(done, `/api/gw/teams`, { token: tenant.token, body: { name } });
    const teamId = team.body.team.id;
    done.teams.set(name, teamId);
    const key = await acknowledged(done, "/api/gw/api-keys", {
      token: tenant.token,
      body: { name: `key ${writer}-${count}`, team_id: teamId },
    });
    done.keys.set(key.body.apiKey.id, { teamId, secret: key.body.key });
    const amount = writer * 1_000_000 + count;
    done.amountsAsked.push(amount);
    const bought = await acknowledged(done, "/api/credits/purchase", { token: tenant.token, body: { amount, method: "test" } });
    done.purchases.set(bought.body.purchase.id, amount);
  }
}

let writes = 0;

async function acknowledged(done: Acknowledged, path: string, options: CallOptions): Promise<Answer> {
  const headers = { "idempotency-key": `write-${process.pid}-${writes++}` };
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const answer = await call(system.url, "POST", path, { ...options, headers });
    if (answer.status === 201) return answer;
    // Only the error that says the control plane is unreachable may be retried; every other answer is wrong.
    expect(answer).toMatchObject({ status: 504, body: { code: "DB_TIMEOUT" } });
    expect(performance.now()).toBeLessThan(deadline);
    done.unanswered++;
    done.repeats[answer.status] = (done.repeats[answer.status] ?? 0) + 1;
    await sleep(50);
  }
}

async function callUntil(signal: AbortSignal, tenant: Tenant, done: Acknowledged): Promise<void> {
  for (let count = 0; !signal.aborted; count++) {
    const stream = count % 3 === 0;
    const more = stream ? { stream, stream_options: { include_usage: true } } : {};
    const content = "some words for a call ".repeat(1 + (count % 5));
    if (count % 7 === 6) {
      await leaveEarly(tenant, content);
      continue;
    }
    const answer = await chat(system, tenant.key, content, more).catch(() => undefined);
    if (answer?.status === 200) {
      const costNano = stream
        ? JSON.parse(answer.text.split("\n\n").at(-3)?.slice(6) ?? "{}").cost_nano
        : Number(answer.headers.get("x-gw-cost-nano"));
      expect(costNano).toBeGreaterThan(0);
      done.calls.set(answer.headers.get("x-gw-call-id") ?? "", costNano);
    } else {
      // A key or a credit that cannot be checked is a 503, never a 401 or a 429: those would tell a client to give up.
      expect(answer?.status).toBe(503);
      done.unanswered++;
      await sleep(20);
    }
  }
}

/** A client that does not wait for its answer: its call may be in the log all the same, and then it is paid. */
async function leaveEarly(tenant: Tenant, content: string): Promise<void> {
  await fetch(`${system.url}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-gw-api-key": tenant.key },
    body: JSON.stringify({ model: "echo", messages: [{ role: "user", content }] }),
    signal: AbortSignal.timeout(6),
  }).catch(() => undefined);
}

/** Waits until the edge owes the ledger nothing: what clients abandoned is settled after they left. */
async function untilSettled(): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  for (let quiet = 0; quiet < 3; ) {
    const metrics = await (await fetch(`${system.url}/metrics`)).text();
    quiet = /^tributary_settlements_pending\{[^}]*\} 0$/m.test(metrics) ? quiet + 1 : 0;
    expect(performance.now()).toBeLessThan(deadline);
    await sleep(100);
  }
}

test("an edge killed in the middle of its streams comes back, and the books are sound", async () => {
  const tenant = await newTenant(system);
  await buy(system, tenant.token, FIRST_CREDIT);
  const before = await chat(system, tenant.key, "before");
  const body = { model: "echo", stream: true, n: 8, messages: [{ role: "user", content: "word ".repeat(4_000) }] };
  const streams = await Promise.all(
    [1, 2, 3].map(() =>
      fetch(`${system.url}/v1/chat/completions`, {
        method: "POST",
        headers: { "content-type": "application/json", "x-gw-api-key": tenant.key },
        body: JSON.stringify(body),
      }),
    ),
  );
  for (const { status } of streams) expect(status).toBe(200);
  // No client reads yet, so the edge is blocked in the middle of each stream.
  const startedAt = performance.now();
  await system.killEdge(0);
  const tookMs = performance.now() - startedAt;
  const endings = await Promise.all(streams.map((stream) => stream.text().catch(() => "broken off")));
  for (const text of endings) expect(text).not.toContain("[DONE]");

  const after = await chat(system, tenant.key, "after");
  expect(after.status).toBe(200);
  const { quota } = (await call(system.url, "GET", "/api/quota", { token: tenant.token })).body;
  printLine(
    `kill -9 of the edge: back and serving after ${Math.round(tookMs)} ms; ${quota.reserved} nano-USD stay reserved until they expire`,
  );
  const { logs } = await expectConsistentLedger(system, tenant.token);
  const ids = logs.map(({ callId }) => callId);
  for (const answer of [before, after]) expect(ids.filter((id) => id === answer.headers.get("x-gw-call-id"))).toHaveLength(1);
});
