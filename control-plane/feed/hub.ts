import { type Clock, pause, untilBeatMs } from "../../common/clock.ts";
import { FeedPlace, laneOf, revisionOf } from "../../common/feed-place.ts";
import type { Logger } from "../../common/logger.ts";
import type { FeedRow } from "../domain/records.ts";
import { endOfFeed } from "../stores/feed-lanes.ts";
import { collect } from "../stores/page.ts";
import type { Store } from "../stores/store.ts";

/** One message on a watch; without changes it is a heartbeat. */
export interface FeedMessage {
  changes: readonly FeedRow[];
  /** How many changes there have ever been when the message was sent. */
  total: number;
  /** Missed changes are no longer stored: the receiver must drop everything it has cached. */
  resync: boolean;
  /** The store's primary is out of reach: nothing beyond the changes in this message can have changed. */
  noPrimary?: boolean;
}

const READ_MAX = 1000;
const HEARTBEAT_MS = 1000;

/** The change feed, fanned out. One reader of the store serves every watching edge. */
export class FeedHub {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #watchers = new Set<(message: FeedMessage) => void>();
  #place = new FeedPlace();
  #reading: Promise<void> | undefined;
  #again = false;
  #healthy = true;
  #rowsSent = 0;
  #lagMs = 0;
  #readAtMs: number;
  #unsubscribe: (() => void) | undefined;
  readonly #stop = new AbortController();

  constructor(options: { store: Store; clock: Clock; logger: Logger }) {
    this.#store = options.store;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#readAtMs = options.clock.monotonicMs();
  }

  /** How far this control plane has read; never changed in place. */
  get place(): FeedPlace {
    return this.#place;
  }

  /** Rows sent since the start, how old the oldest of the last message was, and how long ago the feed was read. */
  get figures(): { readonly rows: number; readonly lagMs: number; readonly ageMs: number } {
    return { rows: this.#rowsSent, lagMs: this.#lagMs, ageMs: this.#clock.monotonicMs() - this.#readAtMs };
  }

  async start(): Promise<void> {
    this.#place = await endOfFeed(this.#store);
    this.#unsubscribe = this.#store.onFeed(() => this.#wake());
    void this.#beat();
  }

  /** Aborted when the feed stops: watches end then, also those that receive no changes. */
  get stopping(): AbortSignal {
    return this.#stop.signal;
  }

  stop(): void {
    this.#unsubscribe?.();
    this.#stop.abort();
    this.#watchers.clear();
  }

  /**
   * Sends all changes after a place, then new ones as they come, and a heartbeat each second. Without a place the first message is a
   * resync. Returns the function that stops it.
   */
  async watch(after: FeedPlace | undefined, send: (message: FeedMessage) => void): Promise<() => void> {
    // Subscribe first, catch up second: a change in between may be sent twice but is never missed.
    const early: FeedMessage[] = [];
    let ready = false;
    const watcher = (message: FeedMessage) => (ready ? send(message) : void early.push(message));
    this.#watchers.add(watcher);
    send(await this.#missed(after));
    ready = true;
    for (const message of early) send(message);
    return () => this.#watchers.delete(watcher);
  }

  async #missed(after: FeedPlace | undefined): Promise<FeedMessage> {
    const end = await endOfFeed(this.#store);
    const changes = after && isWithin(after, end) ? await this.#rowsAfter(after, { end, limit: READ_MAX + 1 }) : undefined;
    // A place from another store, a gap before the first stored row of a lane, or too many rows to send one by one.
    const resync = !after || !changes || changes.length > READ_MAX || hasGap(changes, { after, end });
    return { changes: resync ? [] : changes, total: end.total, resync };
  }

  /** Rows of all lanes that end after the place, each lane in the order of its numbers. */
  async #rowsAfter(after: FeedPlace, { end, limit }: { end: FeedPlace; limit: number }): Promise<FeedRow[]> {
    const rows: FeedRow[] = [];
    for (const newest of end.revisions) {
      if (after.covers(newest) || rows.length >= limit) continue;
      const lane = laneOf(newest);
      const range = { after: [after.at(lane)], before: revisionOf(lane + 1, 0), limit: limit - rows.length };
      rows.push(...(await collect(this.#store.scan("feed", range))));
    }
    return rows;
  }

  #wake(): void {
    if (this.#reading) {
      this.#again = true;
      return;
    }
    this.#reading = this.#read().finally(() => {
      this.#reading = undefined;
      if (this.#again) {
        this.#again = false;
        this.#wake();
      }
    });
  }

  async #read(): Promise<void> {
    try {
      const end = await endOfFeed(this.#store);
      const changes = await this.#rowsAfter(this.#place, { end, limit: READ_MAX });
      this.#healthy = true;
      // This control plane was asleep for longer than rows are retained.
      const resync = changes.length < READ_MAX && hasGap(changes, { after: this.#place, end });
      this.#count(resync ? [] : changes);
      if (changes.length === 0 && !resync) return;
      this.#place = new FeedPlace([...this.#place.revisions, ...changes.map(({ id }) => id), ...(resync ? end.revisions : [])]);
      this.#send({ changes: resync ? [] : changes, total: this.#place.total, resync });
      if (changes.length === READ_MAX) this.#again = true;
    } catch (error) {
      // No heartbeat while the store cannot be read: an edge must not keep using a mirror that may be stale.
      this.#healthy = false;
      this.#logger.warn({ error: String(error) }, "the feed could not be read; heartbeats to edges are paused");
    }
  }

  #count(changes: readonly FeedRow[]): void {
    this.#readAtMs = this.#clock.monotonicMs();
    this.#rowsSent += changes.length;
    if (changes.length > 0) this.#lagMs = Math.max(0, this.#clock.now() - Math.min(...changes.map(({ at }) => at)));
  }

  async #beat(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      await pause(this.#clock, untilBeatMs(this.#clock, HEARTBEAT_MS), this.#stop.signal);
      this.#wake();
      const isRead = await this.#isReadSoon();
      if (isRead && this.#healthy) this.#send({ changes: [], total: this.#place.total, resync: false });
      else await this.#beatWithoutPrimary();
    }
  }

  /** Without a primary, a read waits much longer than edges wait for a heartbeat. */
  async #isReadSoon(): Promise<boolean> {
    const reading = this.#reading?.then(() => true) ?? Promise.resolve(true);
    const { promise: late, resolve } = Promise.withResolvers<boolean>();
    const cancel = this.#clock.after(HEARTBEAT_MS, () => resolve(false));
    try {
      return await Promise.race([reading, late]);
    } finally {
      cancel();
    }
  }

  /** What the other members know is all that counts, so edges may keep using their mirror for a while. */
  async #beatWithoutPrimary(): Promise<void> {
    try {
      const changes = await this.#store.feedWithoutPrimary(this.#place);
      if (!changes) return;
      // Rows of a secondary may be rolled back: #place stays, and the feed is read again from it when there is a primary.
      this.#send({ changes, total: this.#place.total + changes.length, resync: false, noPrimary: true });
    } catch (error) {
      this.#logger.warn({ error: String(error) }, "the feed could not be read without a primary");
    }
  }

  #send(message: FeedMessage): void {
    for (const watcher of this.#watchers) watcher(message);
  }
}

const isWithin = (place: FeedPlace, end: FeedPlace): boolean => place.revisions.every((revision) => end.covers(revision));

/** Whether a lane that ends after the place lacks the row that follows the place. */
function hasGap(changes: readonly FeedRow[], { after, end }: { after: FeedPlace; end: FeedPlace }): boolean {
  const found = new Set(changes.map(({ id }) => id));
  return end.revisions.some((newest) => !after.covers(newest) && !found.has(after.at(laneOf(newest)) + 1));
}
