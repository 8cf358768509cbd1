import { type Clock, pause } from "../../common/clock.ts";
import type { Logger } from "../../common/logger.ts";
import type { OwnershipRows, SlotRow } from "../stores/ownership-rows.ts";
import { placeOf } from "./rendezvous.ts";
import { SeenPlanes } from "./seen-planes.ts";
import type { Plane, SlotOwner, Slots } from "./slots.ts";

/** What the ownership of slots works with. */
export interface OwnershipOptions {
  readonly rows: OwnershipRows;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly self: Plane;
  readonly count: number;
}

const BEAT_MS = 1_000;
const LOOK_MS = 1_000;
/**
 * A plane that could not beat for this long owns nothing, by its own clock. Others take its slots after DEAD_MS of silence, which is longer:
 * a plane that was paused and wakes grants nothing.
 */
const FENCE_MS = 4_000;
/** Rows of planes that died long ago are removed. */
const FORGET_MS = 60_000;
const FREE: SlotRow = { slot: -1, epoch: 0, owner: undefined };

/**
 * The slots of one control plane among several: it beats, sees who else beats, gives up slots that belong to others, and takes those that
 * belong to it and have no living owner. Times are those of this process alone.
 */
export class Ownership implements Slots {
  readonly #options: OwnershipOptions;
  readonly #seen = new SeenPlanes();
  /** The epoch of each slot that this plane took. */
  readonly #held = new Map<number, number>();
  readonly #lostListeners: ((slots: ReadonlySet<number>) => void)[] = [];
  readonly #stop = new AbortController();
  #rows: readonly SlotRow[] = [];
  #version = 0;
  #shown = "";
  #beat = 0;
  /** When the last beat that the store has began. */
  #beatAtMs = Number.NEGATIVE_INFINITY;
  /** How often this plane was fenced: what was read before does not count afterwards. */
  #lapses = 0;
  #isLeaving = false;
  #looking: Promise<void> | undefined;
  #loops: Promise<unknown> | undefined;

  constructor(options: OwnershipOptions) {
    this.#options = options;
  }

  get count(): number {
    return this.#options.count;
  }

  get self(): Plane {
    return this.#options.self;
  }

  get version(): number {
    return this.#version;
  }

  /** Takes what is free, then goes on in the background. Rejects if the store cannot be reached. */
  async start(): Promise<void> {
    await this.#beatOnce();
    await this.look();
    this.#loops = Promise.all([this.#repeat(BEAT_MS, () => this.#beatOnce()), this.#repeat(LOOK_MS, () => this.look())]);
  }

  epochOf(slot: number): number | undefined {
    return this.#isFenced() ? undefined : this.#held.get(slot);
  }

  isOwned(slot: number): boolean {
    return !this.#isLeaving && this.epochOf(slot) !== undefined;
  }

  ownerOf(slot: number): SlotOwner | undefined {
    const { self } = this.#options;
    const own = this.isOwned(slot) ? this.epochOf(slot) : undefined;
    if (own !== undefined) return { ...self, epoch: own };
    const { owner, epoch } = this.#rows[slot] ?? FREE;
    // A row with this plane's id that it does not hold is from before it was fenced.
    const plane = owner === undefined || owner === self.id ? undefined : this.#seen.living(owner);
    return plane && { id: plane.id, address: plane.address, epoch };
  }

  planes(): readonly Plane[] {
    const { self } = this.#options;
    const others = this.#seen.all.filter(({ id }) => id !== self.id && this.#seen.living(id));
    return [...(this.#isLeaving ? [] : [self]), ...others.map(({ id, address }) => ({ id, address }))];
  }

  onLost(listener: (slots: ReadonlySet<number>) => void): void {
    this.#lostListeners.push(listener);
  }

  look(): Promise<void> {
    this.#looking ??= this.#lookOnce().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  async leave(drained: () => Promise<void>): Promise<void> {
    this.#isLeaving = true;
    this.#changed();
    await drained();
    this.#stop.abort();
    await this.#loops;
    const { rows, self, logger } = this.#options;
    const given = [...this.#held].map(([slot, epoch]) => ({ slot, epoch, owner: self.id }));
    try {
      await this.#giveUp(given);
      await rows.remove({ id: self.id, beat: this.#beat });
    } catch (error) {
      logger.warn({ error: String(error) }, "this control plane could not hand its slots over; others take them in some seconds");
    }
  }

  async #beatOnce(): Promise<void> {
    const { rows, clock, self } = this.#options;
    const beganMs = clock.monotonicMs();
    await rows.beat({ ...self, beat: ++this.#beat });
    // Others may have taken its slots while it did not beat, so it begins anew.
    if (this.#isFenced()) this.#lapse();
    this.#beatAtMs = beganMs;
  }

  #isFenced(): boolean {
    return this.#options.clock.monotonicMs() - this.#beatAtMs >= FENCE_MS;
  }

  #lapse(): void {
    this.#lapses++;
    if (this.#held.size === 0) return;
    this.#options.logger.warn(
      { slots: this.#held.size },
      "this control plane could not reach the store for too long and gave its slots up",
    );
    this.#forget([...this.#held.keys()]);
  }

  async #lookOnce(): Promise<void> {
    const { rows } = this.#options;
    const lapses = this.#lapses;
    // A plane that was fenced meanwhile may have lost what it read that it has.
    const isSure = () => lapses === this.#lapses && !this.#isFenced() && !this.#isLeaving;
    await this.#lookAtPlanes();
    if (this.#isAlone()) return this.#changed();
    const slots = await rows.slots();
    // After the slots: an owner beats before it takes, so a plane that has no row now is gone.
    await this.#lookAtPlanes();
    if (lapses === this.#lapses) this.#compare(slots);
    if (isSure()) await this.#giveUp(this.#misplaced());
    if (isSure())
      await this.#take(
        slots.filter((row) => this.#isForSelf(row)),
        isSure,
      );
    await this.#removeDead();
    this.#changed();
  }

  async #lookAtPlanes(): Promise<void> {
    const { rows, clock } = this.#options;
    const beganMs = clock.monotonicMs();
    const planes = await rows.planes();
    this.#seen.observe(planes, { beganMs, endedMs: clock.monotonicMs() });
  }

  /** No other plane has a row, so none can have taken a slot. */
  #isAlone(): boolean {
    const { self, count } = this.#options;
    return this.#held.size === count && this.#seen.all.every(({ id }) => id === self.id);
  }

  /** A slot that another plane has taken is lost. */
  #compare(slots: readonly SlotRow[]): void {
    this.#rows = slots;
    this.#forget([...this.#held].filter(([slot, epoch]) => slots[slot]?.epoch !== epoch).map(([slot]) => slot));
  }

  /** Slots that have this plane as their owner and belong to another plane, which can take them. */
  #misplaced(): SlotRow[] {
    const { clock, self } = this.#options;
    const ids = new Set([self.id, ...this.#seen.joined(clock.monotonicMs()).map(({ id }) => id)]);
    return this.#rows.filter(({ slot, owner }) => owner === self.id && placeOf(slot, [...ids]) !== self.id);
  }

  async #giveUp(slots: readonly SlotRow[]): Promise<void> {
    if (slots.length === 0) return;
    // Nothing new is granted from here on; what is in memory counts until the store refuses commits of the old epoch.
    for (const { slot } of slots) this.#held.delete(slot);
    try {
      await this.#options.rows.giveUp(slots);
    } finally {
      this.#lost(slots.map(({ slot }) => slot));
    }
  }

  #isForSelf({ slot, owner }: SlotRow): boolean {
    const { self } = this.#options;
    if (this.#held.has(slot)) return false;
    if (owner !== undefined && owner !== self.id && this.#seen.living(owner)) return false;
    return (
      placeOf(
        slot,
        this.planes().map(({ id }) => id),
      ) === self.id
    );
  }

  async #take(slots: readonly SlotRow[], isSure: () => boolean): Promise<void> {
    if (slots.length === 0) return;
    const { rows, self } = this.#options;
    const taken = await rows.take(slots, self.id);
    // A slot that is not used now is taken again by the next look.
    if (!isSure()) return;
    for (const { slot, epoch } of taken) this.#held.set(slot, epoch);
    const bySlot = new Map(taken.map((row) => [row.slot, row]));
    this.#rows = this.#rows.map((row) => bySlot.get(row.slot) ?? row);
  }

  async #removeDead(): Promise<void> {
    for (const dead of this.#seen.silent(FORGET_MS)) await this.#options.rows.remove(dead);
  }

  #forget(slots: readonly number[]): void {
    for (const slot of slots) this.#held.delete(slot);
    this.#lost(slots);
  }

  #lost(slots: readonly number[]): void {
    if (slots.length === 0) return;
    const lost = new Set(slots);
    for (const listener of this.#lostListeners) listener(lost);
    this.#changed();
  }

  /** Counts a change if the owners are others than at the last look. */
  #changed(): void {
    const owners = Array.from({ length: this.#options.count }, (_, slot) => {
      const owner = this.ownerOf(slot);
      return owner && `${owner.epoch} ${owner.id}`;
    });
    const shown = JSON.stringify([this.planes(), owners]);
    if (shown === this.#shown) return;
    this.#shown = shown;
    this.#version++;
  }

  async #repeat(everyMs: number, work: () => Promise<void>): Promise<void> {
    const { clock, logger } = this.#options;
    while (!this.#stop.signal.aborted) {
      await pause(clock, everyMs, this.#stop.signal);
      if (this.#stop.signal.aborted) return;
      try {
        await work();
      } catch (error) {
        logger.warn({ error: String(error) }, "the owners of slots could not be read or written; it is tried again");
      }
    }
  }
}
