import { adminToken, call } from "../helpers/api.ts";
import type { System } from "../helpers/system.ts";

/** The fields of a row of /api/gw/logs that these tests read. */
export interface LoggedCall {
  id: string;
  callId: string;
  teamId: string;
  apiKeyId: string;
  stream: boolean;
  status: string;
  usage: { input: number; output: number; total: number; source: string };
  cost: number;
  ledgerSeq: number | null;
}

export interface LedgerRow {
  seq: number;
  type: string;
  amount: number;
  balanceAfter: number;
  callId: string | null;
  purchaseId: string | null;
}

export interface AccountHistory {
  logs: LoggedCall[];
  /** Newest first. */
  entries: LedgerRow[];
  totals: { requests: number; tokens: number; cost: number };
  balance: number;
}

type SystemUrl = Pick<System, "url">;

const PAGES_MAX = 200;

/** Prints to stderr, because jest's console would add a stack trace to each line. */
export function printLine(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** All logs, ledger entries, totals and the balance of an organization. */
async function readHistory(system: SystemUrl, token: string): Promise<AccountHistory> {
  const { rows, totals } = await allLogs(system, token);
  return {
    logs: rows,
    entries: await allPages<LedgerRow>(system, token, "/api/credits/ledger"),
    totals,
    balance: await balanceOf(system, token),
  };
}

/**
 * Invariants of every organization when no call is running: one log row and one ledger entry for each call with a cost,
 * of the same amount; totals that are their sum; a balance that is the sum of all entries; a chain that verifies.
 */
export async function expectConsistentLedger(system: SystemUrl, token: string): Promise<AccountHistory> {
  const history = await readHistory(system, token);
  const usage = history.entries.filter((entry) => entry.type === "usage");
  const paid = history.logs.filter((row) => row.cost > 0);
  expect(new Set(history.logs.map((row) => row.callId)).size).toBe(history.logs.length);
  expect(usage.map(({ callId, seq, amount }) => `${callId} ${seq} ${-amount}`).toSorted()).toEqual(
    paid.map(({ callId, ledgerSeq, cost }) => `${callId} ${ledgerSeq} ${cost}`).toSorted(),
  );
  expect(history.totals).toMatchObject({
    requests: history.logs.length,
    tokens: sum(history.logs.map((row) => row.usage.total)),
    cost: sum(usage.map((entry) => 0 - entry.amount)),
  });
  expect(history.balance).toBe(sum(history.entries.map((entry) => entry.amount)));
  expect(history.entries[0]?.balanceAfter ?? 0).toBe(history.balance);
  await expectLedgerVerifies(system);
  return history;
}

export async function expectLedgerVerifies(system: SystemUrl): Promise<void> {
  const verified = await call(system.url, "GET", "/api/admin/ledger/verify", { token: await adminToken(system) });
  expect(verified.body).toMatchObject({ ok: true, sum: 0, firstBad: null });
}

export async function balanceOf(system: SystemUrl, token: string): Promise<number> {
  return (await call(system.url, "GET", "/api/balance", { token })).body.balance;
}

/** Sets a balance to an exact amount with an administrator's adjustment. */
export async function setBalance(system: SystemUrl, tenant: { token: string; organizationId: string }, wanted: number): Promise<void> {
  const amount = wanted - (await balanceOf(system, tenant.token));
  if (amount === 0) return;
  const path = `/api/admin/organizations/${tenant.organizationId}/credits`;
  const granted = await call(system.url, "POST", path, { token: await adminToken(system), body: { amount } });
  expect(granted.body).toMatchObject({ balance: wanted });
}

/** All items of a paged list. */
export async function allPages<Item>(system: SystemUrl, token: string, path: string): Promise<Item[]> {
  const items: Item[] = [];
  for (let page = 1; page <= PAGES_MAX; page++) {
    const answer = await call(system.url, "GET", `${path}?pageSize=100&page=${page}`, { token });
    expect(answer.status).toBe(200);
    items.push(...answer.body.data);
    if (page >= answer.body.meta.totalPages) return items;
  }
  throw new Error(`${path} has more than ${PAGES_MAX} pages`);
}

export function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

/** A small seeded generator, so that a run can be repeated. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** The seed of this run: TEST_SEED, or the time; always printed. */
export function printedSeed(what: string): number {
  const seed = Number(process.env["TEST_SEED"] ?? Date.now() % 1_000_000);
  printLine(`${what}: seed ${seed} (repeat with TEST_SEED=${seed})`);
  return seed;
}

async function allLogs(system: SystemUrl, token: string): Promise<{ rows: LoggedCall[]; totals: AccountHistory["totals"] }> {
  const rows: LoggedCall[] = [];
  let cursor = "";
  for (let page = 0; page < PAGES_MAX; page++) {
    const answer = await call(system.url, "GET", `/api/gw/logs?pageSize=100${cursor}`, { token });
    expect(answer.status).toBe(200);
    // A refused call is a row, but nothing of the ledger.
    rows.push(...answer.body.data.filter(({ status }: LoggedCall) => status !== "refused"));
    if (answer.body.meta.nextCursor === null) return { rows, totals: answer.body.meta.totals };
    cursor = `&cursor=${encodeURIComponent(answer.body.meta.nextCursor)}`;
  }
  throw new Error(`the log has more than ${PAGES_MAX} pages`);
}
