import { call } from "../../helpers/api.ts";
import type { ClientCall } from "./stream-client.ts";
import type { Emitted } from "./word-upstream.ts";

/** A row of the gateway's own log. */
export interface LoggedRow {
  readonly callId: string;
  readonly endUser: string | null;
  readonly status: string;
  readonly errorCode: string | null;
  readonly usage: { readonly input: number; readonly output: number };
  readonly cost: number;
}

interface Entry {
  readonly type: string;
  readonly amount: number;
  readonly callId: string | null;
}

/** What the gateway says of an organization's money. */
export interface Books {
  readonly rows: readonly LoggedRow[];
  readonly entries: readonly Entry[];
  readonly balance: number;
}

/** What others wrote down: the clients, the upstream, who paid. */
export interface Evidence {
  readonly clients: readonly ClientCall[];
  readonly upstream: ReadonlyMap<string, readonly Emitted[]>;
  readonly purchases: readonly number[];
  /** When an edge was stopped. */
  readonly stops: readonly Stop[];
}

export interface Stop {
  readonly fromMs: number;
  readonly untilMs: number;
}

export interface Verdict {
  readonly problems: readonly string[];
  readonly figures: {
    readonly calls: number;
    readonly ended: number;
    readonly cut: number;
    readonly refused: number;
    readonly lost: number;
    readonly doubleBilled: number;
    /** Words delivered and not billed, and billed and not delivered, at the most in one call. */
    readonly mostUnderbilled: number;
    readonly mostOverbilled: number;
  };
}

/** Words between two notes in the journal. */
const NOTE_WORDS = 32;
/** A note is written at the end of its turn of the event loop: what a busy process hands over in one turn may be missing beside. */
const TURN_MS = 100;
/** A running edge notices within this time that a client left. */
const NOTICED_MS = 1000;

/** Holds the gateway's books against three logs that it did not write. Pure: to be run when everything is quiet. */
export function check(books: Books, { clients, upstream, purchases, stops }: Evidence): Verdict {
  const byName = Map.groupBy(books.rows, ({ endUser }) => endUser ?? "");
  const judged = clients.map((client) => {
    const own = judgeCall(client, byName.get(client.name) ?? [], { emitted: upstream.get(client.name) ?? [], stops });
    return { ...own, problems: own.problems.map((problem) => `${client.name} ${client.callId ?? ""}: ${problem}`) };
  });
  const known = new Set(clients.map(({ name }) => name));
  const strangers = books.rows.filter(({ endUser }) => !known.has(endUser ?? ""));
  const entries = checkEntries(books);
  const ended = clients.filter(({ done, error }) => done && error === undefined).length;
  const refused = clients.filter(({ status }) => status !== undefined && status !== 200).length;
  const most = (name: "underbilled" | "overbilled") => Math.max(0, ...judged.map((each) => each[name]));
  return {
    problems: [
      ...judged.flatMap(({ problems }) => problems),
      ...strangers.map(({ callId }) => `${callId} was called by no client`),
      ...entries.problems,
      ...checkBalance(books, purchases),
    ],
    figures: {
      calls: clients.length,
      ended,
      refused,
      cut: clients.length - ended - refused,
      lost: sum(judged.map(({ lost }) => lost)),
      doubleBilled: sum(judged.map(({ twice }) => twice)) + entries.doubled,
      mostUnderbilled: most("underbilled"),
      mostOverbilled: most("overbilled"),
    },
  };
}

function checkEntries({ rows, entries }: Books): { problems: string[]; doubled: number } {
  const usage = entries.filter(({ type }) => type === "usage");
  const paid = Map.groupBy(usage, ({ callId }) => callId ?? "");
  const problems = rows.flatMap(({ callId, cost }) => {
    const amount = sum((paid.get(callId) ?? []).map((entry) => -entry.amount));
    return amount === cost || (amount === 0 && cost === 0) ? [] : [`the row of ${callId} says ${cost}, its entries ${amount}`];
  });
  const logged = new Set(rows.map(({ callId }) => callId));
  const rowless = [...paid.keys()].filter((callId) => !logged.has(callId)).map((callId) => `${callId} is paid and not in the log`);
  return { problems: [...problems, ...rowless], doubled: [...paid.values()].filter(({ length }) => length > 1).length };
}

function checkBalance({ rows, entries, balance }: Books, purchases: readonly number[]): string[] {
  const expected = sum(purchases) - sum(rows.map(({ cost }) => cost));
  const total = sum(entries.map(({ amount }) => amount));
  return [
    ...(balance === expected ? [] : [`the balance is ${balance}; bought less used is ${expected}`]),
    ...(balance === total ? [] : [`the balance is ${balance}, its entries sum to ${total}`]),
  ];
}

interface Judged {
  readonly problems: readonly string[];
  readonly lost: number;
  readonly twice: number;
  readonly underbilled: number;
  readonly overbilled: number;
}

const FINE: Judged = { problems: [], lost: 0, twice: 0, underbilled: 0, overbilled: 0 };

function judgeCall(client: ClientCall, rows: readonly LoggedRow[], { emitted, stops }: CallEvidence): Judged {
  const [row, second] = rows;
  if (second) return { ...FINE, twice: 1, problems: [`is in the log ${rows.length} times`] };
  if (!row) return client.words > 0 ? { ...FINE, lost: 1, problems: [`delivered ${client.words} words and is lost`] } : FINE;
  const { output } = row.usage;
  const problems: string[] = [];
  if (client.callId !== undefined && row.callId !== client.callId) problems.push(`is in the log as ${row.callId}`);
  if (row.cost !== priceOf(row)) problems.push(`costs ${row.cost}, not ${priceOf(row)}`);
  const sent = sentUntil(emitted, Number.POSITIVE_INFINITY);
  if (output > sent) problems.push(`is billed ${output} words, the upstream sent ${sent}`);
  const judged = client.done && client.error === undefined ? judgeEnded(client, row) : judgeCut(client, row, { emitted, stops });
  return { ...judged, problems: [...problems, ...judged.problems] };
}

function judgeEnded({ words, costNano }: ClientCall, { cost, usage }: LoggedRow): Judged {
  if (cost === costNano && usage.output === words) return FINE;
  return { ...FINE, problems: [`ended with ${words} words for ${costNano}, billed ${usage.output} for ${cost}`] };
}

/**
 * What was noted had been delivered before: no client pays for a word that did not arrive. What is not billed arrived after the last note.
 * Only a client that left may be billed for more than it counted: what was on its way, up to what the upstream had sent when its edge
 * noticed that.
 */
function judgeCut(client: ClientCall, { usage: { output }, errorCode }: LoggedRow, { emitted, stops }: CallEvidence): Judged {
  const { words, cameAtMs, leftAtMs } = client;
  const [underbilled, overbilled] = [Math.max(0, words - output), Math.max(0, output - words)];
  const most = leftAtMs === undefined ? words : Math.max(words, sentUntil(emitted, noticedAt(leftAtMs, stops)));
  const isNoted = underbilled <= NOTE_WORDS || (cameAtMs.at(-1) ?? 0) - (cameAtMs[output + NOTE_WORDS] ?? 0) < TURN_MS;
  const problem = `was cut after ${words} words (${errorCode ?? "no error"}), is billed for ${output}, and ${most} can be`;
  return { ...FINE, underbilled, overbilled, problems: isNoted && output <= most ? [] : [problem] };
}

interface CallEvidence {
  readonly emitted: readonly Emitted[];
  readonly stops: readonly Stop[];
}

function sentUntil(emitted: readonly Emitted[], untilMs: number): number {
  return Math.max(0, ...emitted.map(({ sentAtMs }) => sentAtMs.filter((atMs) => atMs <= untilMs).length));
}

/** When an edge must have noticed that a client left. A stopped edge notices nothing until it continues. */
function noticedAt(leftAtMs: number, stops: readonly Stop[]): number {
  const inOrder = stops.toSorted((left, right) => left.fromMs - right.fromMs);
  return inOrder.reduce(
    (noticedMs, { fromMs, untilMs }) => (fromMs < noticedMs && untilMs > leftAtMs ? Math.max(noticedMs, untilMs + NOTICED_MS) : noticedMs),
    leftAtMs + NOTICED_MS,
  );
}

/** 1,000 nano-USD for a token of the prompt, 2,000 for a word. */
function priceOf({ usage }: LoggedRow): number {
  return usage.input * 1000 + usage.output * 2000;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

/** Everything an organization can read about its money; throws when the ledger itself does not verify. */
export async function readBooks(url: string, { token, admin }: { token: string; admin: string }): Promise<Books> {
  const verified = await call(url, "GET", "/api/admin/ledger/verify", { token: admin });
  if (verified.body?.ok !== true || verified.body.sum !== 0) throw new Error(`the ledger does not verify: ${verified.text}`);
  const rows: LoggedRow[] = [];
  for (let cursor = ""; ; ) {
    const { body } = await call(url, "GET", `/api/gw/logs?pageSize=100${cursor}`, { token });
    rows.push(...body.data.filter(({ status }: LoggedRow) => status !== "refused"));
    if (body.meta.nextCursor === null) break;
    cursor = `&cursor=${encodeURIComponent(body.meta.nextCursor)}`;
  }
  const entries: Entry[] = [];
  for (let page = 1, pages = 1; page <= pages; page++) {
    const { body } = await call(url, "GET", `/api/credits/ledger?pageSize=100&page=${page}`, { token });
    entries.push(...body.data);
    pages = body.meta.totalPages;
  }
  const { body } = await call(url, "GET", "/api/balance", { token });
  return { rows, entries, balance: body.balance };
}
