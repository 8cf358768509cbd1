import type { Clock } from "../../common/clock.ts";
import { type AppError, asAppError } from "../../common/errors.ts";
import type { Logger } from "../../common/logger.ts";
import { ownerOf } from "../../common/peers/peer.ts";
import type { LeaseReturn } from "../../proto/gen/tributary/access/v1/access.ts";
import type { ControlPlane } from "../access/clients/control-plane.ts";
import type { Settlement } from "./journal/final-record.ts";
import type { Journal } from "./journal/journal.ts";
import { BATCH_MAX, LATE_BATCH_MAX, Lane, type LaneDeps } from "./ship-lane.ts";

/** Which control plane an organization's calls go to, where there are several. */
export interface Division {
  /** Organizations with the same owner have the same lane. */
  laneOf(organizationId: string): string;
  /** Another number whenever owners may have changed; 0: there is one control plane. */
  division(): number;
}

export interface ShipperDeps {
  readonly journal: Pick<Journal, "unacknowledged" | "acknowledge" | "pending">;
  readonly access: Pick<ControlPlane["access"], "settle">;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly edgeId: string;
  /** Absent: there is one control plane. */
  readonly owners?: Division | undefined;
  /** Credit that leases return, of these organizations; read for each batch. */
  readonly returns: (isAsked?: (organizationId: string) => boolean) => LeaseReturn[];
  /** The control plane has these returns; until then they are reported again. */
  readonly returned: (returns: readonly LeaseReturn[]) => void;
  /** The organizations of which leases may return credit. */
  readonly leased: () => Iterable<string>;
  /** Earlier processes whose calls are in the journal: when those are settled, their leases end. */
  readonly endedEdges: readonly string[];
}

const SETTLE_MS = 5000;
/** Finals in memory that wait in lanes. With more, the journal is not read further until a lane has shipped some. */
const HELD_MAX = 10_000;
const ONE: Division = { laneOf: () => "", division: () => 0 };

/**
 * Ships finished calls from the journal to the ledger, until the ledger has them. Each control plane has its own lane, which reads on in the
 * order of the journal: while the calls of one wait, for example because a slot has no owner, those of the others are shipped. The journal
 * is acknowledged up to the oldest call that any lane still has. With one control plane there is one lane, which reads the journal itself.
 */
export class Shipper {
  readonly #deps: ShipperDeps;
  readonly #owners: Division;
  readonly #lanes = new Map<string, Lane>();
  readonly #laneDeps: LaneDeps;
  /** The newest final that a lane has or had. */
  #readTo = 0;
  /** Finals that lanes have. */
  #held = 0;
  /** The division by which waiting finals are in their lanes; above 0 there were several control planes. */
  #division = 0;
  #isDivided = false;
  /** Rises when finals move from one lane to another. */
  #moves = 0;
  /** The last final of earlier processes; known when the journal was read to its end. */
  #earlierTo: number | undefined;
  #endedEdges: readonly string[];
  #reporting: Promise<void> | undefined;
  #stopped = false;

  constructor(deps: ShipperDeps) {
    this.#deps = deps;
    this.#owners = deps.owners ?? ONE;
    // Leases of edges with another certificate expire by themselves: this edge may not end them.
    this.#endedEdges = deps.endedEdges.filter((id) => [undefined, ownerOf(deps.edgeId)].includes(ownerOf(id)));
    this.#laneDeps = {
      clock: deps.clock,
      logger: deps.logger,
      take: (lane) => this.#take(lane),
      waiting: (lane) => (this.#isDivided ? lane.queue.length : deps.journal.pending()),
      settle: (lane, batch) => this.#settle(lane, batch),
      keep: (lane, batch) => this.#keep(lane, batch),
      shipped: (lane) => this.#shipped(lane),
    };
  }

  /** The journal has more finals, or leases have credit to return. */
  wake({ reportReturns = false } = {}): void {
    if (this.#stopped) return;
    this.#divide();
    if (!this.#isDivided) this.#lane("").wake(reportReturns);
    else if (reportReturns) for (const name of this.#leasedLanes()) this.#lane(name).wake(true);
  }

  /**
   * Resolves when the ledger has everything that the journal had at the time of the call, or what it had of one organization; and has the
   * returned credit.
   */
  async idle(organizationId?: string): Promise<void> {
    let [moves, isPart] = [0, false];
    do {
      this.#divide();
      moves = this.#moves;
      isPart = this.#held >= HELD_MAX;
      await Promise.all(this.#lanesWith(isPart ? undefined : organizationId).map((lane) => lane.idle()));
      this.#divide();
    } while (!this.#stopped && (isPart || moves !== this.#moves));
    if (organizationId === undefined) await this.#reporting;
  }

  /** Stops after the running batches; the rest stays in the journal. */
  stop(): void {
    this.#stopped = true;
    for (const lane of this.#lanes.values()) lane.stop();
  }

  #lane(name: string): Lane {
    const known = this.#lanes.get(name);
    if (known) return known;
    const lane = new Lane(name, this.#laneDeps);
    this.#lanes.set(name, lane);
    return lane;
  }

  #leasedLanes(): Set<string> {
    return new Set([...this.#deps.leased()].map((organizationId) => this.#owners.laneOf(organizationId)));
  }

  /** The lanes that can have finals or returns of an organization, by what they hold: a lane may have them from before a change of owner. */
  #lanesWith(organizationId: string | undefined): Lane[] {
    const lanes = [...this.#lanes.values()];
    if (organizationId === undefined || !this.#isDivided) return lanes;
    const isOf = (settlement: Settlement) => settlement.organizationId === organizationId;
    const name = this.#owners.laneOf(organizationId);
    return lanes.filter((lane) => lane.name === name || lane.queue.some(isOf) || lane.inFlight.some(isOf));
  }

  /** Where there are several control planes: puts what the journal has into the lanes, and what waits into the lanes of new owners. */
  #divide(): void {
    const division = this.#owners.division();
    if (this.#stopped) return;
    if (division !== this.#division) this.#followOwners(division);
    if (!this.#isDivided) return;
    const woken = new Set<Lane>();
    for (const settlement of this.#read(HELD_MAX - this.#held)) {
      const lane = this.#lane(this.#owners.laneOf(settlement.organizationId));
      lane.queue.push(settlement);
      woken.add(lane);
    }
    for (const lane of woken) lane.wake();
  }

  #followOwners(division: number): void {
    this.#division = division;
    this.#isDivided = true;
    this.#moves++;
    for (const lane of [...this.#lanes.values()]) {
      const moved = lane.queue.filter((settlement) => !this.#isIn(lane, settlement));
      lane.queue = lane.queue.filter((settlement) => this.#isIn(lane, settlement));
      this.#move(moved);
      if (lane.isEmpty) this.#lanes.delete(lane.name);
    }
    // A new owner has to learn what leases returned, also if the message to the owner before it was lost.
    for (const name of this.#leasedLanes()) this.#lane(name).wake(true);
  }

  #isIn(lane: Lane, { organizationId }: Settlement): boolean {
    return this.#owners.laneOf(organizationId) === lane.name;
  }

  #move(moved: readonly Settlement[]): void {
    for (const [name, settlements] of Map.groupBy(moved, ({ organizationId }) => this.#owners.laneOf(organizationId))) {
      const lane = this.#lane(name);
      lane.queue = [...lane.queue, ...settlements].sort((one, other) => one.sequence - other.sequence);
      lane.wake();
    }
  }

  /** Finals that no lane had yet, in order. */
  #read(count: number): Settlement[] {
    const read: Settlement[] = [];
    if (count <= 0) return read;
    for (const settlement of this.#deps.journal.unacknowledged(this.#readTo)) {
      read.push(settlement);
      if (read.length === count) break;
    }
    this.#readTo = read.at(-1)?.sequence ?? this.#readTo;
    this.#held += read.length;
    if (read.length < count) this.#earlierTo ??= this.#readTo;
    return read;
  }

  #take(lane: Lane): readonly Settlement[] {
    this.#divide();
    const count = this.#laneDeps.waiting(lane) >= LATE_BATCH_MAX ? LATE_BATCH_MAX : BATCH_MAX;
    return this.#isDivided ? lane.queue.splice(0, count) : this.#read(count);
  }

  #keep(lane: Lane, batch: readonly Settlement[]): readonly Settlement[] {
    this.#divide();
    if (!this.#isDivided || this.#stopped) return batch;
    const moved = new Set(batch.filter((settlement) => !this.#isIn(lane, settlement)));
    if (moved.size === 0) return batch;
    this.#moves++;
    lane.inFlight = lane.inFlight.filter((settlement) => !moved.has(settlement));
    this.#move([...moved]);
    return batch.filter((settlement) => !moved.has(settlement));
  }

  #shipped(lane: Lane): Promise<void> | undefined {
    const shipped = lane.inFlight;
    lane.inFlight = [];
    this.#held -= shipped.length;
    const shippedTo = this.#shippedTo();
    if (shipped.length > 0) this.#deps.journal.acknowledge(shippedTo);
    // There may be room for more.
    this.#divide();
    if (this.#endedEdges.length === 0 || this.#earlierTo === undefined || shippedTo < this.#earlierTo) return undefined;
    this.#reporting ??= this.#reportEnded().finally(() => {
      this.#reporting = undefined;
    });
    return this.#isDivided ? undefined : this.#reporting;
  }

  /** The ledger has every final up to this sequence. */
  #shippedTo(): number {
    let shippedTo = this.#readTo;
    for (const { inFlight, queue } of this.#lanes.values()) {
      for (const first of [inFlight[0], queue[0]]) if (first && first.sequence <= shippedTo) shippedTo = first.sequence - 1;
    }
    return shippedTo;
  }

  /** Tried again with the next batch if it fails; until then their leases expire by themselves. */
  async #reportEnded(): Promise<void> {
    if ((await this.#send([], [], this.#endedEdges)) === undefined) this.#endedEdges = [];
  }

  async #settle(lane: Lane, batch: readonly Settlement[]): Promise<AppError | undefined> {
    if (!this.#isDivided) return this.#send(batch, this.#deps.returns());
    const returns = this.#deps.returns((organizationId) => this.#owners.laneOf(organizationId) === lane.name);
    return batch.length === 0 && returns.length === 0 ? undefined : this.#send(batch, returns);
  }

  async #send(batch: readonly Settlement[], returns: LeaseReturn[], endedEdges: readonly string[] = []): Promise<AppError | undefined> {
    const { access, edgeId } = this.#deps;
    try {
      await access.settle({ settlements: [...batch], edgeId, returns, endedEdges: [...endedEdges] }, { deadlineMs: SETTLE_MS });
      this.#deps.returned(returns);
      return undefined;
    } catch (thrown) {
      return asAppError(thrown);
    }
  }
}
