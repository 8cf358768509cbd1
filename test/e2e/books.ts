import { adminToken, call } from "../helpers/api.ts";
import type { System } from "../helpers/system.ts";

/** A row of /api/gw/logs, as far as these tests look at it. */
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

export interface Entry {
  seq: number;
  type: string;
  amount: number;
  balanceAfter: number;
  callId: string | null;
  purchaseId: string | null;
}

export interface Books {
  logs: LoggedCall[];
  /** Newest first, as answered. */
  entries: Entry[];
  totals: { requests: number; tokens: number; cost: number };
  balance: number;
}

type Door = Pick<System, "url">;

const PAGES_MAX = 200;

/** Prints past jest's own console, which would add a stack trace to each line. */
export function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** Everything an organisation can read about its money. */
async function readBooks(system: Door, token: string): Promise<Books> {
  const { rows, totals } = await allLogs(system, token);
  return {
    logs: rows,
    entries: await allPages<Entry>(system, token, "/api/credits/ledger"),
    totals,
    balance: await balanceOf(system, token),
  };
}

/**
 * What must hold for every organisation at every quiet moment: one log row and one ledger entry for each call that cost something,
 * of the same amount; totals that are their sum; a balance that is the sum of all entries; a chain that verifies.
 */
export async function expectSoundBooks(system: Door, token: string): Promise<Books> {
  const books = await readBooks(system, token);
  const usage = books.entries.filter((entry) => entry.type === "usage");
  const paid = books.logs.filter((row) => row.cost > 0);
  expect(new Set(books.logs.map((row) => row.callId)).size).toBe(books.logs.length);
  expect(usage.map(({ callId, seq, amount }) => `${callId} ${seq} ${-amount}`).toSorted()).toEqual(
    paid.map(({ callId, ledgerSeq, cost }) => `${callId} ${ledgerSeq} ${cost}`).toSorted(),
  );
  expect(books.totals).toMatchObject({
    requests: books.logs.length,
    tokens: sum(books.logs.map((row) => row.usage.total)),
    cost: sum(usage.map((entry) => 0 - entry.amount)),
  });
  expect(books.balance).toBe(sum(books.entries.map((entry) => entry.amount)));
  expect(books.entries[0]?.balanceAfter ?? 0).toBe(books.balance);
  await expectLedgerVerifies(system);
  return books;
}

export async function expectLedgerVerifies(system: Door): Promise<void> {
  const verified = await call(system.url, "GET", "/api/admin/ledger/verify", { token: await adminToken(system) });
  expect(verified.body).toMatchObject({ ok: true, sum: 0, firstBad: null });
}

export async function balanceOf(system: Door, token: string): Promise<number> {
  return (await call(system.url, "GET", "/api/balance", { token })).body.balance;
}

/** Brings a balance to an exact amount, as an administrator's correction. */
export async function setBalance(system: Door, tenant: { token: string; organizationId: string }, wanted: number): Promise<void> {
  const amount = wanted - (await balanceOf(system, tenant.token));
  if (amount === 0) return;
  const path = `/api/admin/organizations/${tenant.organizationId}/credits`;
  const granted = await call(system.url, "POST", path, { token: await adminToken(system), body: { amount } });
  expect(granted.body).toMatchObject({ balance: wanted });
}

/** Every item of a list that is read page by page. */
export async function allPages<Item>(system: Door, token: string, path: string): Promise<Item[]> {
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

/** A small generator with a seed: what a run did can be done again. */
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
  say(`${what}: seed ${seed} (repeat with TEST_SEED=${seed})`);
  return seed;
}

async function allLogs(system: Door, token: string): Promise<{ rows: LoggedCall[]; totals: Books["totals"] }> {
  const rows: LoggedCall[] = [];
  let cursor = "";
  for (let page = 0; page < PAGES_MAX; page++) {
    const answer = await call(system.url, "GET", `/api/gw/logs?pageSize=100${cursor}`, { token });
    expect(answer.status).toBe(200);
    rows.push(...answer.body.data);
    if (answer.body.meta.nextCursor === null) return { rows, totals: answer.body.meta.totals };
    cursor = `&cursor=${encodeURIComponent(answer.body.meta.nextCursor)}`;
  }
  throw new Error(`the log has more than ${PAGES_MAX} pages`);
}
