import { type Clock, pause } from "../../../../common/clock.ts";
import type { Logger } from "../../../../common/logger.ts";
import type { UsageRow } from "../../../domain/records.ts";
import { inPages } from "../../../proof/pages.ts";
import type { Reader } from "../../../stores/store.ts";
import { LogIndex } from "./log-index.ts";

/** An index that no query has used for so long is dropped. */
const IDLE_MS = 3_600_000;
/** What the texts of a row may take on average: end users and tags may have hundreds of characters, all different. */
const TEXT_BYTES_A_ROW = 200;

interface Entry {
  readonly index: LogIndex;
  /** Rows that were settled while the log is read; undefined: the index is complete. */
  settledMeanwhile: UsageRow[] | undefined;
  usedAtMs: number;
  readonly dropped: AbortController;
}

interface Options {
  readonly store: Reader;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Rows of all indexes together. */
  readonly rowsMax: number;
}

/**
 * The logs that people search, in memory. An index is read from the store when a query turns out to be long, and follows the settlements of this
 * process: so only the owner of an organization has one. Whatever makes it uncertain, such as a commit with an unknown outcome, drops it.
 */
export class LogIndexes {
  readonly #options: Options;
  /** The least recently used first. */
  readonly #entries = new Map<string, Entry>();

  constructor(options: Options) {
    this.#options = options;
  }

  /** The complete index of an organization, if there is one. */
  of(organizationId: string): LogIndex | undefined {
    const entry = this.#entries.get(organizationId);
    if (!entry || entry.settledMeanwhile) return undefined;
    entry.usedAtMs = this.#options.clock.monotonicMs();
    this.#entries.delete(organizationId);
    this.#entries.set(organizationId, entry);
    return entry.index;
  }

  /** Reads an organization's log, unless that is done or under way. Resolves when it is read; until then queries scan the store. */
  async build(organizationId: string): Promise<void> {
    const { rowsMax, clock, logger } = this.#options;
    if (rowsMax === 0 || this.#entries.has(organizationId)) return;
    const entry: Entry = {
      index: new LogIndex(),
      settledMeanwhile: [],
      usedAtMs: clock.monotonicMs(),
      dropped: new AbortController(),
    };
    this.#entries.set(organizationId, entry);
    try {
      await this.#read(organizationId, entry);
    } catch (error) {
      if (entry.dropped.signal.aborted) return;
      this.#drop(organizationId);
      logger.warn({ organizationId, error: String(error) }, "the log could not be read into memory; queries scan the store");
    }
  }

  /** Adds settled rows, after their commit. */
  add(rows: readonly UsageRow[]): void {
    if (this.#entries.size === 0) return;
    for (const row of rows) {
      const entry = this.#entries.get(row.organizationId);
      if (!entry) continue;
      if (entry.settledMeanwhile) entry.settledMeanwhile.push(row);
      else entry.index.add(row);
    }
    this.#dropIdle();
    this.#shrink();
  }

  /** Drops indexes that may lack rows. */
  forget(isUncertain: (organizationId: string) => boolean): void {
    for (const organizationId of [...this.#entries.keys()]) if (isUncertain(organizationId)) this.#drop(organizationId);
  }

  get #most(): { readonly rows: number; readonly bytes: number } {
    const { rowsMax } = this.#options;
    return { rows: rowsMax, bytes: rowsMax * TEXT_BYTES_A_ROW };
  }

  get #isOver(): boolean {
    const { rows, bytes } = this.#most;
    const sumOf = (name: "rows" | "bytes") => this.#entries.values().reduce((sum, { index }) => sum + index[name], 0);
    return sumOf("rows") > rows || sumOf("bytes") > bytes;
  }

  /** Newest first, with as many pauses as work, because settlements share the thread. */
  async #read(organizationId: string, entry: Entry): Promise<void> {
    const { store, clock, rowsMax } = this.#options;
    const { index, dropped } = entry;
    const range = { index: "byOrganization", equals: [organizationId], reverse: true } as const;
    let beganMs = clock.monotonicMs();
    for await (const page of inPages(store, "usage", { range, signal: dropped.signal })) {
      for (const row of page) index.add(row);
      this.#shrink();
      const oldest = page.at(-1);
      if (oldest && (index.rows >= rowsMax || oldest.createdAt < index.coveredFrom)) {
        index.coveredFrom = Math.max(index.coveredFrom, oldest.createdAt + 1);
        break;
      }
      await pause(clock, clock.monotonicMs() - beganMs, dropped.signal);
      beganMs = clock.monotonicMs();
    }
    dropped.signal.throwIfAborted();
    index.addMissing(entry.settledMeanwhile ?? []);
    entry.settledMeanwhile = undefined;
  }

  #dropIdle(): void {
    const sinceMs = this.#options.clock.monotonicMs() - IDLE_MS;
    this.forget((organizationId) => (this.#entries.get(organizationId)?.usedAtMs ?? 0) < sinceMs);
  }

  /** The log that was used longest ago goes first; of a log that is too long by itself the oldest rows. */
  #shrink(): void {
    while (this.#isOver) {
      const [first, second] = this.#entries;
      if (!first) return;
      if (second) this.#drop(first[0]);
      else if (first[1].index.shrinkTo(this.#most) === 0) return;
    }
  }

  #drop(organizationId: string): void {
    this.#entries.get(organizationId)?.dropped.abort();
    this.#entries.delete(organizationId);
  }
}
