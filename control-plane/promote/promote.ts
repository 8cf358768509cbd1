import { type Clock, pause } from "../../common/clock.ts";
import type { Random } from "../../common/random.ts";
import { COLLECTION_NAMES } from "../stores/collections.ts";
import type { FileStore } from "../stores/file-store.ts";
import { divideLedger } from "../stores/migrations/0002-ledger-slots.ts";
import { migrate } from "../stores/migrations/migrate.ts";
import type { Store } from "../stores/store.ts";
import { ToolProblem } from "../tools/tool.ts";
import { divideCounters } from "../writes/counters.ts";
import type { Copies } from "./copies.ts";
import { readMark, writeMark } from "./mark.ts";
import { advance, endPosition, type Position, readPosition } from "./position.ts";
import { type Promoted, prove, requireSameCounts, requireValidLedger } from "./prove.ts";
import { runRound } from "./round.ts";

/** Changes that are copied in about a second: the platform stops for them. */
const FEW = 2_000;
/** A platform that changes more than is copied meanwhile is stopped after so many rounds. */
const ROUNDS_MAX = 8;
const LOOK_MS = 100;
/** Where the system has no list of locks, a process that reads nothing for a moment is not seen at every look. */
const LOOKS = 5;

/** How far a promotion is, for the operator. */
export type Progress = { readonly collection: string; readonly copied: number } | { readonly note: string };

export interface PromoteOptions {
  /** The embedded store, which a control plane may be using. */
  readonly source: FileStore;
  /** Processes that have the folder open. */
  readonly users: () => readonly number[];
  readonly copies: Copies;
  readonly target: Store;
  /** Name of the target, for the mark of the folder. */
  readonly database: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly progress: (state: Progress) => void;
  readonly signal: AbortSignal;
}

/**
 * Copies all records and blobs into an empty store, and proves both ledgers and audit logs equal. While a control plane uses the folder, a copy
 * of one moment is brought over in rounds, each with what changed since the last. When little is left the folder is marked, control planes
 * leave it, and the last round brings over the folder itself. After a kill at any point the next run goes on where the last transaction ended.
 */
export async function promote(options: PromoteOptions): Promise<Promoted> {
  const { source, target, copies } = options;
  let position = (await knownPosition(options)) ?? (await begin(options));
  while (position.phase !== "copied" || position.transaction === undefined) {
    const open = position.phase === "copied" ? await beginRound(options, position) : position;
    position = await finishRound(options, open);
  }
  await migrate(target);
  await target.transaction("every", divideCounters);
  await target.transaction("every", divideLedger);
  options.progress({ note: "proving both ledgers equal" });
  const promoted = await prove(options);
  requireUnchanged(source, position);
  await copies.remove();
  await target.transaction("settings", endPosition);
  return promoted;
}

const fingerprintOf = async (store: Store): Promise<string> => (await store.get("settings", "secret-key-fingerprint"))?.value ?? "";

async function knownPosition({ source, target }: PromoteOptions): Promise<Position | undefined> {
  const known = await readPosition(target);
  if (!known) return undefined;
  if (known.source !== (await fingerprintOf(source))) {
    throw new ToolProblem("The database has an unfinished copy of another folder. Use another database.");
  }
  requireUnchanged(source, known);
  return known;
}

function requireUnchanged(source: FileStore, { transaction }: Position): void {
  if (transaction === undefined || transaction === source.lastTransaction) return;
  throw new ToolProblem("The folder was written to after it was handed over. Drop the database and run the command again.");
}

/** The database is taken before the folder is marked, so that a mark without it is of another promotion. */
async function begin({ source, target, random }: PromoteOptions): Promise<Position> {
  await requireEmpty(target);
  const mark = await readMark(source);
  if (mark) throw handedOver(mark.database);
  const id = random.bytes(8).toString("hex");
  const first: Position = { id, source: await fingerprintOf(source), round: -1, phase: "copied", changed: 0 };
  await target.transaction("settings", (tx) => advance(tx, undefined, first));
  return first;
}

const handedOver = (database: string): ToolProblem =>
  new ToolProblem(
    `The folder was handed over to the database ${database}. If that is not in use, take the folder back with --cancel and run the command again.`,
  );

async function requireEmpty(target: Store): Promise<void> {
  for (const collection of COLLECTION_NAMES) {
    if ((await target.count(collection, { limit: 1 })) > 0) {
      throw new ToolProblem(`The database is not empty: it has ${collection}. Use another database; nothing was changed.`);
    }
  }
}

async function beginRound(options: PromoteOptions, last: Position): Promise<Position> {
  const round = last.round + 1;
  // Before the platform is stopped for a round that cannot end.
  if (last.round >= 0) options.copies.require(last.round);
  const isLast = await mustBeLast(options, last);
  if (!isLast) await takeCopy(options, round);
  const begun: Position = {
    ...{ id: last.id, source: last.source, round, phase: round === 0 ? "records" : "removals", changed: 0 },
    ...(isLast ? { transaction: await fence(options, last) } : {}),
  };
  await options.target.transaction("settings", (tx) => advance(tx, last, begun));
  return begun;
}

async function mustBeLast(options: PromoteOptions, last: Position): Promise<boolean> {
  if (last.round >= 0 && (last.changed <= FEW || last.round + 1 >= ROUNDS_MAX)) return true;
  return (await readMark(options.source)) !== undefined || (await findUser(options)) === undefined;
}

/** A process that has the folder open. */
async function findUser({ users, clock, signal }: PromoteOptions): Promise<number | undefined> {
  for (let look = 0; look < LOOKS; look++) {
    const [user] = users();
    if (user !== undefined) return user;
    await pause(clock, LOOK_MS, signal);
    signal.throwIfAborted();
  }
  return undefined;
}

/** A ledger that is not valid is found while the platform still runs. */
async function takeCopy({ source, copies, progress, signal }: PromoteOptions, round: number): Promise<void> {
  progress({ note: `round ${round}: copying the folder as it is now` });
  await copies.take(source, round);
  if (round > 0) return;
  const copy = copies.open(round);
  try {
    await requireValidLedger(copy, "folder", signal);
  } finally {
    await copy.close();
  }
}

/**
 * Marks the folder, waits until no process uses it, and fences it: nothing is written after the last transaction that is returned. The wait lets
 * control planes settle what is queued; a process that the list of users lacks for a moment cannot commit anything later.
 */
async function fence(options: PromoteOptions, { id }: Position): Promise<number> {
  const { source, database, clock, progress, signal } = options;
  const mark = await readMark(source);
  if (mark && mark.id !== id) throw handedOver(mark.database);
  if (!mark) await writeMark(source, { id, database, at: clock.now() });
  for (let named: number | undefined; ; ) {
    const user = await findUser(options);
    if (user === undefined) break;
    if (user !== named) progress({ note: `the folder is marked; waiting until process ${user} has stopped` });
    named = user;
    await pause(clock, LOOK_MS, signal);
    signal.throwIfAborted();
  }
  await source.fence();
  return source.lastTransaction;
}

async function finishRound({ source, copies, ...options }: PromoteOptions, begun: Position): Promise<Position> {
  const isLast = begun.transaction !== undefined;
  const base = begun.round > 0 ? copies.open(begun.round - 1) : undefined;
  const next = isLast ? source : copies.open(begun.round);
  try {
    const check = async () => isLast && (await requireSameCounts({ source, target: options.target }));
    const done = await runRound({ ...options, base, next, check }, begun);
    options.progress({ note: `round ${begun.round}: ${done.changed} changes` });
    if (!isLast) await copies.keepOnly(begun.round);
    return done;
  } finally {
    await base?.close();
    if (!isLast) await next.close();
  }
}
