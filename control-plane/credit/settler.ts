import { setImmediate as nextTurn } from "node:timers/promises";
import type { Clock } from "../../common/clock.ts";
import { AppError } from "../../common/errors.ts";
import type { Logger } from "../../common/logger.ts";
import { slotOf } from "../../common/slots.ts";
import { NotOwner } from "../domain/not-owner.ts";
import type { Lease, UsageRow } from "../domain/records.ts";
import { perTransaction } from "../stores/record-slots.ts";
import { scopesOf, slotScope } from "../stores/scopes.ts";
import type { Store, Transaction } from "../stores/store.ts";
import { endLeases, leaseId, leasesOfEdges, settleLease } from "../writes/leases.ts";
import { auditMismatches, type SettleOutcome, settleCalls } from "../writes/settle.ts";
import { type LeaseReport, type Report, settleInParts } from "./report-parts.ts";
import type { Reservations } from "./reservations.ts";

interface Waiting {
  rows: readonly UsageRow[];
  /** The slots of its rows and leases. */
  slots: ReadonlySet<number>;
  lease: LeaseReport | undefined;
  resolve(outcome: SettleOutcome): void;
  reject(error: unknown): void;
}

const QUEUE_ROWS_MAX = 20_000;

/** Follows what is settled: rows in memory that queries of the log are answered from. */
export interface SettledRows {
  /** Called before a commit. The returned function is called after it, whatever its outcome. */
  begin(): () => void;
  /** Called after their commit. */
  add(rows: readonly UsageRow[]): void;
  /** Called for organizations with a commit whose outcome is not known. */
  forget(isUncertain: (organizationId: string) => boolean): void;
}

/** Collects what edges report while a transaction runs into the next transaction, so that one commit settles many calls. */
export class Settler {
  readonly #store: Store;
  readonly #reservations: Reservations;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #settledRows: SettledRows | undefined;
  #queue: Waiting[] = [];
  #queuedRows = 0;
  #running: Promise<void> | undefined;
  readonly #figures = { batches: 0, calls: { settled: 0, repeated: 0, refused: 0 } };

  constructor(options: {
    store: Store;
    reservations: Reservations;
    clock: Clock;
    logger: Logger;
    settledRows?: SettledRows | undefined;
  }) {
    this.#store = options.store;
    this.#reservations = options.reservations;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#settledRows = options.settledRows;
  }

  /** Resolves when the rows are committed. */
  settle(rows: readonly UsageRow[], lease?: LeaseReport): Promise<SettleOutcome> {
    if (this.#queuedRows + rows.length > QUEUE_ROWS_MAX) {
      throw new AppError("UNAVAILABLE", "Too many settlements are waiting. Try again shortly.", { retryAfterSeconds: 1 });
    }
    if (this.#store.slotsPerTransaction === this.#store.slots) return this.#enqueue({ rows, lease });
    return settleInParts({ rows, lease }, this.#store.slots, (part) => this.#enqueue(part));
  }

  #enqueue({ rows, lease }: Report): Promise<SettleOutcome> {
    const slots = slotsOf(this.#store, rows, lease);
    const settled = new Promise<SettleOutcome>((resolve, reject) => void this.#queue.push({ rows, slots, lease, resolve, reject }));
    this.#queuedRows += rows.length;
    this.#running ??= this.#drain();
    return settled;
  }

  /** Rows that no transaction has taken yet. */
  get waiting(): number {
    return this.#queuedRows;
  }

  /** Committed batches and what became of their calls, since the start. */
  get figures(): { readonly batches: number; readonly calls: Readonly<Record<"settled" | "repeated" | "refused", number>> } {
    return this.#figures;
  }

  async idle(): Promise<void> {
    await this.#running;
  }

  async #drain(): Promise<void> {
    // Reports of other edges that arrive in the same turn join the first transaction.
    await nextTurn();
    while (this.#queue.length > 0) {
      await Promise.all(this.#takeBatches().map((batch) => this.#settleBatch(batch)));
      // The embedded store commits without yielding to the event loop; key look-ups and log-ins run here.
      await nextTurn();
    }
    this.#running = undefined;
  }

  /**
   * Reports with a row of a slot that this control plane does not own, or just lost, are refused as a whole with `NotOwner`: their edge keeps
   * the rows and sends them to the owner. The others of the batch are settled.
   */
  async #settleBatch(batch: readonly Waiting[]): Promise<void> {
    const owned = batch.filter((waiting) => !refuseElsewhere(waiting, (slot) => !this.#store.owns(slot)));
    if (owned.length === 0) return;
    const end = this.#settledRows?.begin();
    try {
      await this.#commit(owned);
    } catch (error) {
      this.#forget(owned);
      const rest = error instanceof NotOwner ? owned.filter((waiting) => !refuseElsewhere(waiting, (slot) => slot === error.slot)) : owned;
      // Nothing was written; each edge retries its own rows.
      if (rest.length === owned.length) for (const { reject } of rest) reject(error);
      else await this.#settleBatch(rest);
    } finally {
      end?.();
    }
  }

  /** A commit that failed may have been applied; its rows are then reported again as known ones. */
  #forget(batch: readonly Waiting[]): void {
    const organizations = new Set(batch.flatMap(({ rows }) => rows.map(({ organizationId }) => organizationId)));
    this.#settledRows?.forget((organizationId) => organizations.has(organizationId));
  }

  /** One batch; where a transaction may not write all slots, one for each slot, which are settled at the same time. */
  #takeBatches(): Waiting[][] {
    const { slots, slotsPerTransaction } = this.#store;
    if (slotsPerTransaction === slots) return [this.#takeBatch(this.#queue)];
    const bySlot = Map.groupBy(this.#queue, (waiting) => waiting.slots.values().next().value);
    return [...bySlot.values()].map((ofSlot) => this.#takeBatch(ofSlot));
  }

  #takeBatch(from: readonly Waiting[]): Waiting[] {
    let rows = 0;
    let count = 0;
    for (const waiting of from) {
      if (count > 0 && rows + waiting.rows.length > this.#store.rowsPerTransaction) break;
      rows += waiting.rows.length;
      count++;
    }
    this.#queuedRows -= rows;
    const batch = from.slice(0, count);
    const taken = new Set(batch);
    this.#queue = this.#queue.filter((waiting) => !taken.has(waiting));
    return batch;
  }

  /** Leases of dead edges in the slots of this control plane. Other owners end theirs, or they expire. */
  async #endedLeases(batch: readonly Waiting[]): Promise<Lease[]> {
    const edges = batch.flatMap(({ lease }) => lease?.endedEdges ?? []);
    const leases = await leasesOfEdges(this.#store, edges);
    return leases.filter((lease) => this.#store.owns(this.#slotOf(lease)));
  }

  #slotOf({ organizationId }: Lease): number {
    return slotOf(organizationId, this.#store.slots);
  }

  async #commit(batch: readonly Waiting[]): Promise<void> {
    const [ended = [], ...endedLater] = perTransaction(this.#store, "leases", await this.#endedLeases(batch));
    const slots = new Set([...batch.flatMap((waiting) => [...waiting.slots]), ...ended.map((lease) => this.#slotOf(lease))]);
    const outcomes = await this.#store.transaction([...slots].map(slotScope), async (tx) => {
      const results: SettleOutcome[] = [];
      const all = batch.flatMap(({ rows }) => rows);
      const outcome = await settleCalls(tx, all, this.#clock.now());
      await settleLeases(tx, batch, outcome.fresh, this.#clock.now());
      // Leases of dead edges end in the transaction that settles the last of their calls, or later, never earlier.
      await endLeases(tx, ended, this.#clock.now());
      const refused = new Set(outcome.refused);
      // Counts are those of the whole batch; each edge gets only its own refused calls.
      for (const { rows } of batch) results.push({ ...outcome, refused: rows.map((row) => row.id).filter((id) => refused.has(id)) });
      return results;
    });
    this.#settledRows?.add(outcomes[0]?.stored ?? []);
    for (const leases of endedLater) {
      await this.#store.transaction(scopesOf("leases", leases, this.#store.slots), (tx) => endLeases(tx, leases, this.#clock.now()));
    }
    const mismatches = outcomes.flatMap(({ refused }) => refused);
    this.#count(outcomes[0], mismatches.length);
    if (mismatches.length > 0) await this.#store.transaction("audit", (tx) => auditMismatches(tx, mismatches, this.#clock.now()));
    this.#reservations.countAnswers(outcomes[0]?.stored ?? []);
    batch.forEach(({ rows, resolve }, index) => {
      for (const row of rows) this.#reservations.release(row.id);
      const outcome = outcomes[index];
      if (outcome && outcome.refused.length > 0)
        this.#logger.error({ callIds: outcome.refused }, "calls were reported twice with different content; the second report was refused");
      if (outcome) resolve(outcome);
    });
  }

  /** Each outcome has the counts of the whole batch. */
  #count(batch: SettleOutcome | undefined, refused: number): void {
    const { calls } = this.#figures;
    this.#figures.batches++;
    calls.settled += batch?.settled ?? 0;
    calls.repeated += batch?.repeated ?? 0;
    calls.refused += refused;
  }
}

/** Refuses a report of a slot that is elsewhere. Returns whether it did. */
function refuseElsewhere({ slots, reject }: Waiting, isElsewhere: (slot: number) => boolean): boolean {
  for (const slot of slots) {
    if (!isElsewhere(slot)) continue;
    reject(new NotOwner(slot));
    return true;
  }
  return false;
}

function slotsOf({ slots }: Store, rows: readonly UsageRow[], lease: LeaseReport | undefined): ReadonlySet<number> {
  const organizations = new Set(lease?.returns.map(({ organizationId }) => organizationId));
  for (const { organizationId } of rows) organizations.add(organizationId);
  return new Set([...organizations].map((organizationId) => slotOf(organizationId, slots)));
}

/** Moves settled costs from outstanding to settled in the leases they were made under, once per call like the settlement itself. */
async function settleLeases(tx: Transaction, batch: readonly Waiting[], fresh: readonly UsageRow[], now: number): Promise<void> {
  const unsettled = new Set(fresh.map(({ id }) => id));
  const inputs = batch.flatMap(({ rows, lease }) => (lease ? [...leaseInputs(rows, lease, unsettled)] : []));
  // Read at once, because a batch may have calls of hundreds of organizations.
  if (inputs.length > 0) await tx.getMany("leases", [...new Set(inputs.map(leaseId))]);
  for (const input of inputs) await settleLease(tx, input, now);
}

function* leaseInputs(rows: readonly UsageRow[], { edgeId, returns, generations }: LeaseReport, unsettled: Set<string>) {
  const sums = new LeaseSums();
  for (const { organizationId, generation, released } of returns) sums.of(organizationId, generation).released = released;
  for (const { id, organizationId, cost } of rows) {
    const generation = generations.get(id);
    if (generation !== undefined && unsettled.delete(id)) sums.of(organizationId, generation).settled += cost;
  }
  for (const sum of sums.all()) yield { edgeId, ...sum };
}

interface LeaseSum {
  readonly organizationId: string;
  readonly generation: number;
  released: bigint;
  settled: bigint;
}

/** Sums of one report by lease. */
class LeaseSums {
  readonly #byName = new Map<string, LeaseSum>();
  #last: LeaseSum | undefined;

  of(organizationId: string, generation: number): LeaseSum {
    // Most rows of a batch belong to one lease.
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
