import type { ClientSession, Db, MongoClient, TransactionOptions } from "mongodb";
import type { Clock } from "../../../common/clock.ts";
import type { Random } from "../../../common/random.ts";
import { Overlay, type Write } from "../overlay.ts";
import type { Transaction } from "../store.ts";
import { WriteQueue } from "../write-queue.ts";
import { applyWrites } from "./apply.ts";
import { Deadline } from "./deadline.ts";
import { alreadyThere, isCommitUnknown, isDuplicateKey, isTransient, mayRunAgain } from "./driver-errors.ts";
import { MongoReader } from "./reader.ts";

const BACK_OFF_FIRST_MS = 4;
const BACK_OFF_MAX_MS = 250;
/** A commit that waits longer for the majority is asked again: by then the set may have another primary. */
const COMMIT_WAIT_MS = 2_000;
/** Work that looks before it inserts sees on its next run what it met; work that still inserts it will never learn. */
const DUPLICATES_MAX = 3;

const TRANSACTION: TransactionOptions = {
  readConcern: { level: "snapshot" },
  writeConcern: { w: "majority", journal: true, wtimeoutMS: COMMIT_WAIT_MS },
  readPreference: "primary",
};

type Work<T> = (tx: Transaction) => Promise<T>;

interface Committed<T> {
  readonly result: T;
  readonly writes: readonly Write[];
}

/** An attempt that came to nothing, and why. */
interface Again {
  readonly again: unknown;
}

/** What work itself threw: its caller gets it unchanged. */
interface Thrown {
  readonly thrown: unknown;
}

export interface TransactionsOptions {
  readonly client: MongoClient;
  readonly database: Db;
  readonly clock: Clock;
  readonly random: Random;
  /** From the call to its end, waiting for its turn included. */
  readonly limitMs: number;
}

/**
 * Transactions by an own loop: the driver's `withTransaction` goes on for 120 s and cannot tell a duplicate key, which aborts a
 * transaction and then looks transient, from a conflict.
 */
export class Transactions {
  readonly #options: TransactionsOptions;
  readonly #queue = new WriteQueue();

  constructor(options: TransactionsOptions) {
    this.#options = options;
  }

  async run<T>(work: Work<T>): Promise<Committed<T>> {
    const deadline = new Deadline(this.#options.clock, this.#options.limitMs);
    try {
      // Bound twice: who waits for a turn is answered in time, and a turn that takes too long makes way.
      return await deadline.bound(this.#queue.run(() => deadline.bound(this.#untilCommitted(work, deadline))));
    } finally {
      deadline.clear();
    }
  }

  idle(): Promise<void> {
    return this.#queue.idle();
  }

  async #untilCommitted<T>(work: Work<T>, deadline: Deadline): Promise<Committed<T>> {
    deadline.check();
    // One session for all attempts: the server ends what a lost attempt left open when it sees the next one begin.
    const session = this.#options.client.startSession();
    try {
      let duplicates = 0;
      for (let attempt = 0; ; attempt++) {
        const outcome: Committed<T> | Again | Thrown = await this.#attempt(session, { work, deadline });
        if ("writes" in outcome) return outcome;
        if ("thrown" in outcome) throw outcome.thrown;
        deadline.problem = outcome.again;
        deadline.check();
        if (isDuplicateKey(outcome.again) && ++duplicates === DUPLICATES_MAX) throw alreadyThere(outcome.again);
        await this.#backOff(attempt);
      }
    } finally {
      session.endSession().catch(() => undefined);
    }
  }

  async #attempt<T>(
    session: ClientSession,
    { work, deadline }: { work: Work<T>; deadline: Deadline },
  ): Promise<Committed<T> | Again | Thrown> {
    const { database } = this.#options;
    session.startTransaction(TRANSACTION);
    try {
      const reads = new WatchedReads();
      const maxTimeMs = Math.ceil(deadline.remainingMs);
      const overlay = new Overlay(new MongoReader({ database, session, maxTimeMs, guard: (operation) => reads.watch(operation) }));
      const outcome = await outcomeOf(work, overlay);
      reads.throwFailure();
      if ("thrown" in outcome) return outcome;
      const { writes } = overlay;
      if (writes.length === 0) return { result: outcome.result, writes };
      deadline.check();
      await applyWrites(database, session, writes);
      deadline.check();
      return (await this.#commit(session, deadline)) ?? { result: outcome.result, writes };
    } catch (error) {
      if (!mayRunAgain(error)) throw error;
      return { again: error };
    } finally {
      if (session.inTransaction()) await session.abortTransaction().catch(() => undefined);
    }
  }

  /** Undefined when it is committed. An unknown outcome is asked for again until it is known or time is up. */
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

async function outcomeOf<T>(work: Work<T>, tx: Transaction): Promise<{ result: T } | Thrown> {
  try {
    return { result: await work(tx) };
  } catch (thrown) {
    return { thrown };
  }
}

/** Remembers a failed read, because work may catch what it does not know: its transaction must not go on all the same. */
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
