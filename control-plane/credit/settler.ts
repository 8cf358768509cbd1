import { setImmediate as nextTurn } from "node:timers/promises";
import type { Clock } from "../../common/clock.ts";
import { AppError } from "../../common/errors.ts";
import type { Logger } from "../../common/logger.ts";
import type { UsageRow } from "../domain/records.ts";
import type { Store, Transaction } from "../stores/store.ts";
import { endLeases, settleLease } from "../writes/leases.ts";
import { type SettleOutcome, settleCalls } from "../writes/settle.ts";
import type { Reservations } from "./reservations.ts";

/** Under which leases an edge made the calls it reports, and what it gives back of them. */
export interface LeaseReport {
  edgeId: string;
  /** By call; calls that are not in it were reserved by themselves. */
  generations: ReadonlyMap<string, number>;
  returns: readonly { organizationId: string; generation: number; released: bigint }[];
  /** Dead edges of whose calls none is left to be reported. */
  endedEdges: readonly string[];
}

interface Waiting {
  rows: readonly UsageRow[];
  lease: LeaseReport | undefined;
  resolve(outcome: SettleOutcome): void;
  reject(error: unknown): void;
}

const QUEUE_ROWS_MAX = 20_000;

/** Gathers what edges report while a transaction runs into the next one: one commit settles many calls. */
export class Settler {
  readonly #store: Store;
  readonly #reservations: Reservations;
  readonly #clock: Clock;
  readonly #logger: Logger;
  #queue: Waiting[] = [];
  #queuedRows = 0;
  #running: Promise<void> | undefined;

  constructor(options: { store: Store; reservations: Reservations; clock: Clock; logger: Logger }) {
    this.#store = options.store;
    this.#reservations = options.reservations;
    this.#clock = options.clock;
    this.#logger = options.logger;
  }

  /** Resolves when the rows are settled for good. */
  settle(rows: readonly UsageRow[], lease?: LeaseReport): Promise<SettleOutcome> {
    if (this.#queuedRows + rows.length > QUEUE_ROWS_MAX) {
      throw new AppError("UNAVAILABLE", "Too many settlements are waiting. Try again shortly.", { retryAfterSeconds: 1 });
    }
    const settled = new Promise<SettleOutcome>((resolve, reject) => void this.#queue.push({ rows, lease, resolve, reject }));
    this.#queuedRows += rows.length;
    this.#running ??= this.#drain();
    return settled;
  }

  /** Rows that no transaction has taken yet. */
  get waiting(): number {
    return this.#queuedRows;
  }

  async idle(): Promise<void> {
    await this.#running;
  }

  async #drain(): Promise<void> {
    // What arrives in the same turn, from other edges, goes into the first transaction too.
    await nextTurn();
    while (this.#queue.length > 0) {
      const batch = this.#takeBatch();
      try {
        await this.#commit(batch);
      } catch (error) {
        // Nothing was written: each edge repeats its own rows.
        for (const { reject } of batch) reject(error);
      }
      // The embedded store commits without a turn of the event loop: key look-ups and log-ins get theirs here.
      await nextTurn();
    }
    this.#running = undefined;
  }

  #takeBatch(): Waiting[] {
    let rows = 0;
    let count = 0;
    for (const waiting of this.#queue) {
      if (count > 0 && rows + waiting.rows.length > this.#store.rowsPerTransaction) break;
      rows += waiting.rows.length;
      count++;
    }
    this.#queuedRows -= rows;
    return this.#queue.splice(0, count);
  }

  async #commit(batch: readonly Waiting[]): Promise<void> {
    const outcomes = await this.#store.transaction(async (tx) => {
      const results: SettleOutcome[] = [];
      const all = batch.flatMap(({ rows }) => rows);
      const outcome = await settleCalls(tx, all, this.#clock.now());
      await settleLeases(tx, batch, outcome.fresh, this.#clock.now());
      // In the transaction that settles the last of their calls, or after it: never before.
      const endedEdges = batch.flatMap(({ lease }) => lease?.endedEdges ?? []);
      for (const edgeId of endedEdges) await endLeases(tx, edgeId, this.#clock.now());
      const refused = new Set(outcome.refused);
      // The counts of a shared batch are the batch's; who was refused is told to the one who reported it.
      for (const { rows } of batch) results.push({ ...outcome, refused: rows.map((row) => row.id).filter((id) => refused.has(id)) });
      return results;
    });
    batch.forEach(({ rows, resolve }, index) => {
      for (const row of rows) this.#reservations.release(row.id);
      const outcome = outcomes[index];
      if (outcome && outcome.refused.length > 0)
        this.#logger.error({ callIds: outcome.refused }, "a call was reported twice with different content");
      if (outcome) resolve(outcome);
    });
  }
}

/** What was settled now is not outstanding any more in the lease it was made under: once, like the settlement itself. */
async function settleLeases(tx: Transaction, batch: readonly Waiting[], fresh: readonly UsageRow[], now: number): Promise<void> {
  const unsettled = new Set(fresh.map(({ id }) => id));
  for (const { rows, lease } of batch) {
    if (!lease) continue;
    const sums = new LeaseSums();
    for (const { organizationId, generation, released } of lease.returns) sums.of(organizationId, generation).released = released;
    for (const { id, organizationId, cost } of rows) {
      const generation = lease.generations.get(id);
      if (generation !== undefined && unsettled.delete(id)) sums.of(organizationId, generation).settled += cost;
    }
    for (const sum of sums.all()) await settleLease(tx, { edgeId: lease.edgeId, ...sum }, now);
  }
}

interface LeaseSum {
  readonly organizationId: string;
  readonly generation: number;
  released: bigint;
  settled: bigint;
}

/** What a report says of each lease. */
class LeaseSums {
  readonly #byName = new Map<string, LeaseSum>();
  #last: LeaseSum | undefined;

  of(organizationId: string, generation: number): LeaseSum {
    // Most of a batch are of one lease.
    if (this.#last?.organizationId === organizationId && this.#last.generation === generation) return this.#last;
    const name = `${organizationId} ${generation}`;
    const sum = this.#byName.get(name) ?? { organizationId, generation, released: 0n, settled: 0n };
    this.#byName.set(name, sum);
    this.#last = sum;
    return sum;
  }

  all(): Iterable<LeaseSum> {
    return this.#byName.values();
  }
}
