import type { ChangeStream, Collection, Db } from "mongodb";
import { type Clock, pause } from "../../../common/clock.ts";
import { ignore } from "../../../common/ignore.ts";
import { FEED_COUNTERS, newestOf } from "../feed-lanes.ts";
import { fromDocument, type StoredDocument } from "./documents.ts";

const POLL_MS = 1_000;
const BACK_OFF_FIRST_MS = 100;
const CLOSING = "a stream that cannot be closed is broken already";
const BACK_OFF_MAX_MS = 5_000;

/**
 * Notifies of feed rows that any control plane writes. The change stream makes it fast; the poll limits the effect of a lost stream to a
 * delay of one second. Listeners read the feed themselves, so an extra notification costs one read, and a lost one is recovered.
 */
export class FeedWatch {
  readonly #database: Db;
  readonly #clock: Clock;
  readonly #listeners = new Set<() => void>();
  readonly #stop = new AbortController();
  #stream: ChangeStream | undefined;
  #running: Promise<unknown> | undefined;

  constructor(database: Db, clock: Clock) {
    this.#database = database;
    this.#clock = clock;
  }

  listen(listener: () => void): () => void {
    this.#listeners.add(listener);
    if (!this.#stop.signal.aborted) this.#running ??= Promise.all([this.#follow(), this.#poll()]);
    return () => this.#listeners.delete(listener);
  }

  notify(): void {
    for (const listener of this.#listeners) listener();
  }

  async close(): Promise<void> {
    this.#stop.abort();
    this.#listeners.clear();
    await Promise.all([ignore(this.#stream?.close(), CLOSING), this.#running]);
  }

  async #follow(): Promise<void> {
    for (let failures = 0; !this.#stopped; ) {
      const stream = this.#database.collection("feed").watch([{ $match: { operationType: "insert" } }, { $project: { _id: 1 } }]);
      this.#stream = stream;
      try {
        for await (const _ of stream) {
          failures = 0;
          this.notify();
        }
      } catch {
        // The server is unreachable or the stream's history is lost: the poll finds missed rows, and a new stream starts from now.
      }
      await ignore(stream.close(), CLOSING);
      await this.#pause(Math.min(BACK_OFF_MAX_MS, BACK_OFF_FIRST_MS * 2 ** Math.min(failures++, 10)));
    }
  }

  async #poll(): Promise<void> {
    const counters = this.#database.collection<StoredDocument>("counters");
    let known = "";
    while (!this.#stopped) {
      try {
        const ends = (await readFeedEnds(counters, POLL_MS)).join();
        if (ends !== known) this.notify();
        known = ends;
      } catch {
        // The next poll finds the row.
      }
      await this.#pause(POLL_MS);
    }
  }

  get #stopped(): boolean {
    return this.#stop.signal.aborted;
  }

  async #pause(milliseconds: number): Promise<void> {
    if (!this.#stopped) await pause(this.#clock, milliseconds, this.#stop.signal);
  }
}

/** The newest revision of every lane of the feed, in one read. */
export async function readFeedEnds(counters: Collection<StoredDocument>, maxTimeMS: number): Promise<number[]> {
  const { from: $gte, before: $lt } = FEED_COUNTERS;
  const documents = await counters.find({ _id: { $gte, $lt } }, { sort: { _id: 1 }, maxTimeMS }).toArray();
  return documents.map((document) => newestOf(fromDocument<"counters">(document)));
}
