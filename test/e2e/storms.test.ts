import { type Answer, buy, call, chat, inviteToken, newTenant, type Tenant } from "../helpers/api.ts";
import { type System, startSystem } from "../helpers/system.ts";
import {
  allPages,
  expectConsistentLedger,
  expectLedgerVerifies,
  type LedgerRow,
  printedSeed,
  printLine,
  seededRandom,
  sum,
} from "./ledger-checks.ts";

const EDGES = 2;
const CROWD = 100;

let system: System;
beforeAll(async () => {
  system = await startSystem({ edges: EDGES });
});
afterAll(async () => {
  try {
    if (system) await expectLedgerVerifies(system);
  } finally {
    await system?.stop();
  }
});

const crowd = <T>(count: number, one: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => one(index)));

/** How often each status, with its code, was answered. */
function tally(answers: readonly Answer[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status, body } of answers) {
    const code = body?.code ?? body?.error?.code;
    const name = code ? `${status} ${code}` : String(status);
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

test("both edges take connections, or the storms below would prove less than they say", async () => {
  const seen = new Set<string | undefined>();
  for (let attempt = 0; attempt < 50 && seen.size < EDGES; attempt++) {
    const { text } = await call(system.url, "GET", "/metrics", { headers: { connection: "close" } });
    seen.add(/edge="(\d)"/.exec(text)?.[1]);
  }
  expect(seen).toEqual(new Set(["0", "1"]));
});

test("of 100 creations of one team name at once exactly one wins", async () => {
  const tenant = await newTenant(system);
  const answers = await crowd(CROWD, () => call(system.url, "POST", "/api/gw/teams", { token: tenant.token, body: { name: "Contested" } }));
  expect(tally(answers)).toEqual({ "201": 1, "409 VALIDATION_ERROR": CROWD - 1 });
  const teams = await allPages<{ name: string }>(system, tenant.token, "/api/gw/teams");
  expect(teams.filter(({ name }) => name === "Contested")).toHaveLength(1);
});

test("of 100 removals of one key at once exactly one succeeds, and the key is dead", async () => {
  const tenant = await newTenant(system, { creditNano: 1_000_000 });
  const answers = await crowd(CROWD, () =>
    call(system.url, "POST", "/api/api-keys/remove", { token: tenant.token, body: { apiKey: tenant.keyId } }),
  );
  expect(tally(answers)).toEqual({ "200": 1, "404 NOT_FOUND": CROWD - 1 });
  // "Refused at every edge within a second"; a new connection may reach either edge.
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  expect(tally(await crowd(10, () => chat(system, tenant.key, "dead")))).toEqual({ "401 invalid_api_key": 10 });
});

test("100 purchases under one Idempotency-Key at once are one purchase and one ledger entry", async () => {
  const tenant = await newTenant(system);
  const headers = { "idempotency-key": "storm-purchase" };
  const body = { amount: 7_000_000, method: "test" };
  const answers = await crowd(CROWD, () => call(system.url, "POST", "/api/credits/purchase", { token: tenant.token, headers, body }));
  expect(tally(answers)).toEqual({ "201": CROWD });
  expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
  expect(answers.filter((answer) => answer.headers.get("idempotent-replayed") === "true")).toHaveLength(CROWD - 1);
  const { entries, balance } = await expectConsistentLedger(system, tenant.token);
  expect({ entries: entries.length, balance }).toEqual({ entries: 1, balance: 7_000_000 });
});

test("100 different purchases at once are all there, and their sum is exact", async () => {
  const tenant = await newTenant(system);
  const amounts = Array.from({ length: CROWD }, (_, index) => 1_000_003 + index * 17);
  const answers = await crowd(CROWD, (index) => buy(system, tenant.token, amounts[index] ?? 0));
  expect(tally(answers)).toEqual({ "201": CROWD });
  const { entries, balance } = await expectConsistentLedger(system, tenant.token);
  expect(balance).toBe(sum(amounts));
  expect(entries.map(({ amount }: LedgerRow) => amount).toSorted((left, right) => left - right)).toEqual(amounts);
  expect(new Set(entries.map(({ purchaseId }) => purchaseId)).size).toBe(CROWD);
});

test("200 calls at once on the last credit overspend by no more than the published bound", async () => {
  const seed = printedSeed("last-credit storm");
  const random = seededRandom(seed);
  let [overspendMost, admitted] = [0, 0];
  for (const round of [0, 1, 2]) {
    // Ten words cost 30,000 nano-USD at the most; what is bought pays for one call and a part of another.
    const costNano = 30_000;
    const creditNano = 1 + Math.floor(random() * 2 * costNano);
    const tenant = await newTenant(system, { creditNano, name: `last-credit-${round}` });
    const answers = await crowd(200, (index) => chat(system, tenant.key, "w ".repeat(10).trim(), index % 2 ? { stream: true } : {}));
    const counts = tally(answers);
    expect(Object.keys(counts).filter((name) => !["200", "429 QUOTA_EXCEEDED", "403 TEAM_BLOCKED"].includes(name))).toEqual([]);
    const answered = answers.filter(({ status }) => status === 200).map(({ headers }) => headers.get("x-gw-call-id"));
    const { logs, balance } = await expectConsistentLedger(system, tenant.token);
    expect(logs.map(({ callId }) => callId).toSorted()).toEqual(answered.toSorted());
    expect(balance).toBe(creditNano - sum(logs.map(({ cost }) => cost)));
    expect(answered.length).toBeGreaterThan(0);
    const bound = EDGES * costNano;
    printLine(
      `last-credit storm: credit ${creditNano}, ${JSON.stringify(counts)}, overspend ${Math.max(0, -balance)} nano-USD, bound ${bound}`,
    );
    expect(balance).toBeGreaterThanOrEqual(-bound);
    overspendMost = Math.max(overspendMost, -balance);
    admitted += answered.length;
  }
  printLine(`last-credit storm: greatest overspend ${overspendMost} nano-USD with ${EDGES} edges, ${admitted} calls admitted`);
});

test("owners who remove each other and invite at once never leave a team without an owner", async () => {
  const seed = printedSeed("owner races");
  const random = seededRandom(seed);
  const owner = await newTenant(system);
  const others = await crowd(4, () => newTenant(system));
  const people: Tenant[] = [owner, ...others];
  const team = await call(system.url, "POST", "/api/gw/teams", { token: owner.token, body: { name: "Shared" } });
  const teamId = team.body.team.id;
  const invite = async (from: Tenant, to: Tenant) => {
    const invited = await call(system.url, "POST", "/api/gw/teams/invite-member", {
      token: from.token,
      body: { teamId, teamName: "Shared", email: to.email, role: "owner" },
    });
    if (invited.body.member?.status !== "invited") return invited;
    return call(system.url, "POST", "/api/invitations/accept", { token: to.token, body: { token: inviteToken(invited) } });
  };
  const remove = (from: Tenant, to: Tenant) =>
    call(system.url, "POST", "/api/gw/teams/remove-member", { token: from.token, body: { teamId, memberId: to.userId } });
  const counts: Record<string, number> = {};
  for (let round = 0; round < 10; round++) {
    for (const other of others) expect([200, 201]).toContain((await invite(owner, other)).status);
    // Everybody is owner now; in half of the rounds all only leave, so that the last one must be held back.
    const pairs = people.flatMap((from) => people.map((to) => ({ from, to }))).toSorted(() => random() - 0.5);
    const answers = await Promise.all(pairs.map(({ from, to }) => (round % 2 && random() < 0.3 ? invite(from, to) : remove(from, to))));
    for (const [name, count] of Object.entries(tally(answers))) counts[name] = (counts[name] ?? 0) + count;
    const detail = await call(system.url, "GET", `/api/gw/teams/${teamId}`, { token: owner.token });
    const owners = detail.body.team.members.filter((member: { role: string }) => member.role === "owner");
    expect(owners.length).toBeGreaterThanOrEqual(1);
  }
  printLine(`owner races: ${JSON.stringify(counts)}`);
  expect(Object.keys(counts).every((name) => /^(200|201|400 VALIDATION_ERROR|403 FORBIDDEN|404 NOT_FOUND)$/.test(name))).toBe(true);
});
