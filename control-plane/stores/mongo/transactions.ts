import type { ClientSession, Db, MongoClient, TransactionOptions } from "mongodb";
import type { Clock } from "../../../common/clock.ts";
import { ignore } from "../../../common/ignore.ts";
import type { Random } from "../../../common/random.ts";
import { type Fence, placesOf } from "../fence.ts";
import { Overlay, type Write } from "../overlay.ts";
import type { RecordSlots } from "../record-slots.ts";
import { type Scope, slotOfScope } from "../scopes.ts";
import type { Transaction } from "../store.ts";
import type { AbandonedTransactions } from "./abandoned.ts";
import { applyWrites } from "./apply.ts";
import { Deadline } from "./deadline.ts";
import { alreadyThere, isCommitUnknown, isDuplicateKey, isTransient, mayRunAgain } from "./driver-errors.ts";
import { MongoReader } from "./reader.ts";
import { ScopeQueues } from "./scope-queues.ts";

const BACK_OFF_FIRST_MS = 4;
const BACK_OFF_MAX_MS = 250;
/** After so many attempts, about a second, the other transaction of the scope may be one that no process will end. */
const ATTEMPTS_BEFORE_LOOK = 10;
/** A commit that waits longer for the majority is sent again: by then there may be another primary. */
const COMMIT_WAIT_MS = 2_000;
/** Work that reads before it inserts sees the existing record on the next run; work that still inserts it never will. */
const DUPLICATES_MAX = 3;

const TRANSACTION: TransactionOptions = {
  readConcern: { level: "snapshot" },
  writeConcern: { w: "majority", journal: true, wtimeoutMS: COMMIT_WAIT_MS },
  readPreference: "primary",
};

type TransactionWork<T> = (tx: Transaction) => Promise<T>;

interface Committed<T> {
  readonly result: T;
  readonly writes: readonly Write[];
}

/** A transaction to run. */
interface Task<T> {
  readonly scopes: readonly Scope[];
  readonly work: TransactionWork<T>;
  readonly deadline: Deadline;
}

/** An attempt without effect that may be retried, and why. */
interface Again {
  readonly again: unknown;
}

/** An error of the work itself, which its caller gets unchanged. */
interface Thrown {
  readonly thrown: unknown;
}

/** What transactions run with. */
export interface TransactionsOptions {
  readonly client: MongoClient;
  readonly database: Db;
  readonly clock: Clock;
  readonly random: Random;
  /** From the call to its end, waiting in the queue included. */
  readonly limitMs: number;
  readonly abandoned: AbandonedTransactions;
  readonly records: RecordSlots;
  /** Whether collections are divided by slot among shards. */
  readonly sharded: boolean;
  readonly slotsPerTransaction: number;
  /** Absent: this control plane is the only one. */
  readonly fence: Fence | undefined;
  readonly runningMax: number;
}

/**
 * Runs transactions in its own retry loop: the driver's `withTransaction` retries for 120 s and cannot distinguish a duplicate key, which
 * aborts a transaction and then looks transient, from a conflict.
 */
export class Transactions {
  readonly #options: TransactionsOptions;
  readonly #queues: ScopeQueues;

  constructor(options: TransactionsOptions) {
    this.#options = options;
    this.#queues = new ScopeQueues(options.runningMax);
  }

  async run<T>(scopes: readonly Scope[], work: TransactionWork<T>): Promise<Committed<T>> {
    this.#refuseSeveralSlots(scopes);
    const deadline = new Deadline(this.#options.clock, this.#options.limitMs);
    try {
      // Bounded twice: a queued caller gets its answer in time, and a transaction that takes too long leaves the queue.
      return await deadline.bound(this.#queues.run(scopes, () => deadline.bound(this.#untilCommitted({ scopes, work, deadline }))));
    } finally {
      deadline.clear();
    }
  }

  idle(): Promise<void> {
    return this.#queues.idle();
  }

  /** An error of the program: the transaction would be committed by several shards. */
  #refuseSeveralSlots(scopes: readonly Scope[]): void {
    const { slotsPerTransaction } = this.#options;
    const slots = new Set(scopes.map(slotOfScope).filter((slot) => slot !== undefined));
    if (slots.size <= slotsPerTransaction) return;
    throw new Error(`a transaction may write ${slotsPerTransaction} slot of a sharded cluster; this one has ${[...slots].join(", ")}`);
  }

  async #untilCommitted<T>(task: Task<T>): Promise<Committed<T>> {
    const { deadline } = task;
    deadline.check();
    // One session for all attempts, so that the server aborts what a lost attempt left open when the next one starts.
    const session = this.#options.client.startSession();
    try {
      let duplicates = 0;
      for (let attempt = 0; ; attempt++) {
        const outcome: Committed<T> | Again | Thrown = await this.#attempt(session, task);
        if ("writes" in outcome) return outcome;
        if ("thrown" in outcome) throw outcome.thrown;
        deadline.problem = outcome.again;
        deadline.check();
        if (isDuplicateKey(outcome.again) && ++duplicates === DUPLICATES_MAX) throw alreadyThere(outcome.again);
        // Not awaited: without a primary the look itself waits, longer than the work may take.
        if (attempt >= ATTEMPTS_BEFORE_LOOK) void this.#options.abandoned.end();
        await this.#backOff(attempt);
      }
    } finally {
      void ignore(session.endSession(), "the server ends idle sessions");
    }
  }

  async #attempt<T>(session: ClientSession, { scopes, work, deadline }: Task<T>): Promise<Committed<T> | Again | Thrown> {
    const { database, records, sharded, fence } = this.#options;
    const places = placesOf(scopes, fence);
    session.startTransaction(TRANSACTION);
    try {
      const reads = new WatchedReads();
      const maxTimeMs = Math.ceil(deadline.remainingMs);
      const targets = sharded ? { targets: { records, own: onlySlot(scopes) } } : {};
      const reader = new MongoReader({ database, session, maxTimeMs, guard: (operation) => reads.watch(operation), ...targets });
      const overlay = new Overlay(reader, { scopes, slots: records.slots });
      const outcome = await outcomeOf(work, overlay);
      reads.throwFailure();
      if ("thrown" in outcome) return outcome;
      const { writes } = overlay;
      if (writes.length === 0) return { result: outcome.result, writes };
      deadline.check();
      await applyWrites({ database, session, records, sharded }, { places, writes });
      deadline.check();
      return (await this.#commit(session, deadline)) ?? { result: outcome.result, writes };
    } catch (error) {
      if (!mayRunAgain(error)) throw error;
      return { again: error };
    } finally {
      if (session.inTransaction()) await ignore(session.abortTransaction(), "the server aborts it when its time is over");
    }
  }

  /** Returns undefined once committed. An unknown outcome is retried until it is known or the deadline passes. */
  async #commit(session: ClientSession, deadline: Deadline): Promise<Again | undefined> {
    for (let attempt = 0; ; attempt++) {
      try {
        await session.commitTransaction();
        return undefined;
      } catch (error) {
        if (isTransient(error)) return { again: error };
        if (!isCommitUnknown(error)) throw error;
        deadline.problem = error;
        deadline.check();
        await this.#backOff(attempt);
      }
    }
  }

  async #backOff(attempt: number): Promise<void> {
    const limitMs = Math.min(BACK_OFF_MAX_MS, BACK_OFF_FIRST_MS * 2 ** Math.min(attempt, 10));
    const share = this.#options.random.bytes(2).readUInt16BE() / 0xffff;
    await this.#options.clock.sleep(Math.ceil(share * limitMs));
  }
}

/** The slot of a transaction that names nothing else. */
function onlySlot([scope, ...others]: readonly Scope[]): number | undefined {
  return scope === undefined || others.length > 0 ? undefined : slotOfScope(scope);
}

async function outcomeOf<T>(work: TransactionWork<T>, tx: Transaction): Promise<{ result: T } | Thrown> {
  try {
    return { result: await work(tx) };
  } catch (thrown) {
    return { thrown };
  }
}

/** Remembers a failed read: even if the work catches the error, its transaction must not commit. */
class WatchedReads {
  #failure: { error: unknown } | undefined;

  async watch<T>(operation: Promise<T>): Promise<T> {
    try {
      return await operation;
    } catch (error) {
      this.#failure ??= { error };
      throw error;
    }
  }

  throwFailure(): void {
    if (this.#failure) throw this.#failure.error;
  }
}
