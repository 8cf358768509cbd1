import { type Binary, type Db, type MongoClient, ReadConcern } from "mongodb";
import type { Clock } from "../../../common/clock.ts";
import { ignore } from "../../../common/ignore.ts";

const LOOK_EVERY_MS = 1_000;
const LOOK_MAX_MS = 1_000;
const QUIET_MS = 500;

/** The name of the store's connections, by which its transactions are found. */
export const connectionName = (database: string): string => `tributary ${database}`;

interface AbandonedOptions {
  readonly client: MongoClient;
  readonly database: string;
  readonly clock: Clock;
  /** A transaction that has been idle for so long may have lost its process. */
  readonly abandonedMs: number;
}

/**
 * Ends transactions of this database whose process was killed or hangs. The server keeps them open for a minute, and what they wrote cannot be
 * written by others meanwhile: the slots of a dead control plane would stay without an owner. A process that was only slow runs its transaction again.
 */
export class AbandonedTransactions {
  readonly #options: AbandonedOptions;
  #looking: Promise<void> | undefined;
  #lookedAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: AbandonedOptions) {
    this.#options = options;
  }

  /** Looks at most once a second. Never fails. */
  async end(): Promise<void> {
    const nowMs = this.#options.clock.monotonicMs();
    if (!this.#looking && nowMs - this.#lookedAtMs < LOOK_EVERY_MS) return;
    this.#looking ??= ignore(this.#endFound(), "without the right to look, the server ends them after a minute").finally(() => {
      this.#lookedAtMs = this.#options.clock.monotonicMs();
      this.#looking = undefined;
    });
    await this.#looking;
  }

  /** Looks twice: a transaction that was idle for long in all, but works on, is not abandoned. */
  async #endFound(): Promise<void> {
    const before = new Set((await this.#idle()).map(stateOf));
    if (before.size === 0) return;
    await this.#options.clock.sleep(QUIET_MS);
    const left = (await this.#idle()).filter((found) => before.has(stateOf(found)));
    if (left.length > 0) await this.#admin().command({ killSessions: left.map(({ lsid: { id } }) => ({ id })), maxTimeMS: LOOK_MAX_MS });
  }

  #idle(): Promise<IdleTransaction[]> {
    const { database, abandonedMs } = this.#options;
    const appName = connectionName(database);
    const mine = { type: "idleSession", appName, "transaction.timeInactiveMicros": { $gte: abandonedMs * 1_000 } };
    // Every account may see and end sessions of its own.
    const pipeline = [{ $currentOp: { allUsers: false, idleSessions: true } }, { $match: mine }, { $project: { lsid: 1, transaction: 1 } }];
    return this.#admin().aggregate<IdleTransaction>(pipeline, { maxTimeMS: LOOK_MAX_MS }).toArray();
  }

  #admin(): Db {
    return this.#options.client.db("admin", { readConcern: new ReadConcern("local") });
  }
}

interface IdleTransaction {
  readonly lsid: { readonly id: Binary };
  readonly transaction: { readonly parameters: { readonly txnNumber: bigint | number }; readonly timeActiveMicros: bigint | number };
}

/** Changes with each statement. */
function stateOf({ lsid, transaction: { parameters, timeActiveMicros } }: IdleTransaction): string {
  return `${lsid.id.toString("hex")} ${parameters.txnNumber} ${timeActiveMicros}`;
}
