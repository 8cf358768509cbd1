import { type Clock, pause } from "../../common/clock.ts";
import type { Logger } from "../../common/logger.ts";
import type { FeedRow } from "../domain/records.ts";
import { collect } from "../stores/page.ts";
import type { Store } from "../stores/store.ts";

/** One message on a watch; without changes it is a heartbeat. */
export interface FeedMessage {
  changes: readonly FeedRow[];
  revision: number;
  /** Missed changes are no longer stored: the receiver must drop everything it has cached. */
  resync: boolean;
  /** The store can be read but not written: nothing beyond the changes in this message can have changed. */
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
  #revision = 0;
  #reading: Promise<void> | undefined;
  #again = false;
  #healthy = true;
  #unsubscribe: (() => void) | undefined;
  readonly #stop = new AbortController();

  constructor(options: { store: Store; clock: Clock; logger: Logger }) {
    this.#store = options.store;
    this.#clock = options.clock;
    this.#logger = options.logger;
  }

  get revision(): number {
    return this.#revision;
  }

  async start(): Promise<void> {
    this.#revision = (await this.#store.get("counters", "feed"))?.value ?? 0;
    this.#unsubscribe = this.#store.onFeed(() => this.#wake());
    void this.#beat();
  }

  stop(): void {
    this.#unsubscribe?.();
    this.#stop.abort();
    this.#watchers.clear();
  }

  /** Sends all changes after `revision`, then new ones as they come, and a heartbeat each second. Returns the function that stops it. */
  async watch(revision: number, send: (message: FeedMessage) => void): Promise<() => void> {
    // Subscribe first, catch up second: a change in between may be sent twice but is never missed.
    const early: FeedMessage[] = [];
    let ready = false;
    const watcher = (message: FeedMessage) => (ready ? send(message) : void early.push(message));
    this.#watchers.add(watcher);
    send(await this.#missed(revision));
    ready = true;
    for (const message of early) send(message);
    return () => this.#watchers.delete(watcher);
  }

  async #missed(after: number): Promise<FeedMessage> {
    const changes = await collect(this.#store.scan("feed", { after: [after], limit: READ_MAX + 1 }));
    const newest = (await this.#store.get("counters", "feed"))?.value ?? 0;
    const first = changes[0]?.id ?? newest + 1;
    // A gap before the first stored row, a revision from another store, or too many rows to send one by one.
    const resync = first > after + 1 || after > newest || changes.length > READ_MAX;
    return { changes: resync ? [] : changes, revision: newest, resync };
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
      const changes = await collect(this.#store.scan("feed", { after: [this.#revision], limit: READ_MAX }));
      this.#healthy = true;
      const last = changes.at(-1);
      if (!last) return;
      this.#revision = last.id;
      this.#send({ changes, revision: last.id, resync: false });
      if (changes.length === READ_MAX) this.#again = true;
    } catch (error) {
      // No heartbeat while the store cannot be read: an edge must not keep using a mirror that may be stale.
      this.#healthy = false;
      this.#logger.warn({ error: String(error) }, "the feed could not be read; heartbeats to edges are paused");
    }
  }

  async #beat(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      await pause(this.#clock, HEARTBEAT_MS, this.#stop.signal);
      this.#wake();
      const isRead = await this.#isReadSoon();
      if (isRead && this.#healthy) this.#send({ changes: [], revision: this.#revision, resync: false });
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

  /** Without a primary nothing can be revoked, so edges may keep using their mirror for a while. */
  async #beatWithoutPrimary(): Promise<void> {
    try {
      const changes = await this.#store.feedWithoutPrimary(this.#revision);
      if (!changes) return;
      // Rows of a secondary may be rolled back: #revision stays, and the feed is read again from it when there is a primary.
      this.#send({ changes, revision: changes.at(-1)?.id ?? this.#revision, resync: false, noPrimary: true });
    } catch (error) {
      this.#logger.warn({ error: String(error) }, "the feed could not be read without a primary");
    }
  }

  #send(message: FeedMessage): void {
    for (const watcher of this.#watchers) watcher(message);
  }
}
