import { type Clock, pause } from "../../../../common/clock.ts";
import type { Logger } from "../../../../common/logger.ts";
import type { UsageRow } from "../../../domain/records.ts";
import { inPages } from "../../../proof/pages.ts";
import type { Reader } from "../../../stores/store.ts";
import { LogIndex } from "./log-index.ts";

/** An index that no query has used for so long is dropped. */
const IDLE_MS = 3_600_000;
/** An index that a query has used since then does not make room for a log that is read. */
const IN_USE_MS = 300_000;
/** A log that could not be read into memory is not tried again for so long. */
const RETRY_MS = 600_000;
/** Logs that wait to be read. A log that finds no place is asked for again by its next long query. */
const WAITING_MAX = 100;
/** Rows that are settled while their log is read; with more the read is given up. */
const MEANWHILE_ROWS_MAX = 50_000;
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
  readonly #waiting = new Set<string>();
  #building: Promise<void> | undefined;
  readonly #retryAtMs = new Map<string, number>();
  /** Commits of settlements that are under way. */
  readonly #commits = new Set<Promise<void>>();

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

  /**
   * Reads an organization's log, one log at a time, because settlements share the thread. Does nothing if that is done, under way or was tried in vain.
   * Resolves when no log waits any more; until it is read queries scan the store.
   */
  async build(organizationId: string): Promise<void> {
    if (!this.#mayBuild(organizationId)) return;
    this.#waiting.add(organizationId);
    this.#building ??= this.#buildWaiting();
    await this.#building;
  }

  #mayBuild(organizationId: string): boolean {
    const { rowsMax, clock } = this.#options;
    if (rowsMax === 0 || this.#waiting.size >= WAITING_MAX || this.#entries.has(organizationId)) return false;
    return (this.#retryAtMs.get(organizationId) ?? Number.NEGATIVE_INFINITY) <= clock.monotonicMs();
  }

  async #buildWaiting(): Promise<void> {
    // Logs that are added meanwhile are visited too.
    for (const organizationId of this.#waiting) {
      this.#waiting.delete(organizationId);
      await this.#build(organizationId);
    }
    this.#building = undefined;
  }

  async #build(organizationId: string): Promise<void> {
    const entry: Entry = {
      index: new LogIndex(),
      settledMeanwhile: [],
      usedAtMs: this.#options.clock.monotonicMs(),
      dropped: new AbortController(),
    };
    this.#entries.set(organizationId, entry);
    try {
      await this.#read(organizationId, entry);
    } catch (error) {
      if (!entry.dropped.signal.aborted) this.#giveUp(organizationId, String(error));
    }
  }

  /** Called before a commit of settlements. The returned function is called after it, when its rows were added or their organizations forgotten. */
  begin(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#commits.add(promise);
    return () => {
      this.#commits.delete(promise);
      resolve();
    };
  }

  /** Adds settled rows, after their commit. */
  add(rows: readonly UsageRow[]): void {
    if (this.#entries.size === 0) return;
    for (const row of rows) {
      const entry = this.#entries.get(row.organizationId);
      if (!entry) continue;
      if (!entry.settledMeanwhile) entry.index.add(row);
      else if (entry.settledMeanwhile.length < MEANWHILE_ROWS_MAX) entry.settledMeanwhile.push(row);
      else this.#giveUp(row.organizationId, "too many calls were settled meanwhile");
    }
    this.#dropIdle();
    this.#shrink();
  }

  /** Drops indexes that may lack rows. */
  forget(isUncertain: (organizationId: string) => boolean): void {
    for (const organizationId of this.#waiting) if (isUncertain(organizationId)) this.#waiting.delete(organizationId);
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

  /** Newest first, with as many pauses as work. */
  async #read(organizationId: string, entry: Entry): Promise<void> {
    const { store, clock, rowsMax } = this.#options;
    const { index, dropped } = entry;
    const range = { index: "byOrganization", equals: [organizationId], reverse: true } as const;
    let beganMs = clock.monotonicMs();
    for await (const page of inPages(store, "usage", { range, signal: dropped.signal })) {
      for (const row of page) index.add(row);
      this.#makeRoomFor(entry);
      const oldest = page.at(-1);
      if (oldest && (index.rows >= rowsMax || oldest.createdAt < index.coveredFrom)) {
        index.coveredFrom = Math.max(index.coveredFrom, oldest.createdAt + 1);
        break;
      }
      await pause(clock, clock.monotonicMs() - beganMs, dropped.signal);
      beganMs = clock.monotonicMs();
    }
    // A row can be read before its commit is over. Rows of later commits were not read.
    await Promise.all(this.#commits);
    const maybeRead = entry.settledMeanwhile ?? [];
    entry.settledMeanwhile = [];
    await index.addMissing(maybeRead);
    dropped.signal.throwIfAborted();
    for (const row of entry.settledMeanwhile) index.add(row);
    entry.settledMeanwhile = undefined;
  }

  /** Only logs that are not in use make room for one that is read: otherwise two that do not fit together would be read in turns. */
  #makeRoomFor(entry: Entry): void {
    const sinceMs = this.#options.clock.monotonicMs() - IN_USE_MS;
    for (const [organizationId, other] of this.#entries) {
      if (!this.#isOver) return;
      if (other !== entry && other.usedAtMs < sinceMs) this.#drop(organizationId);
    }
    if (!this.#isOver) return;
    if (this.#entries.size > 1)
      throw new Error("It does not fit beside the logs that are in use. A larger LOG_INDEX_ROWS has room for it.");
    entry.index.shrinkTo(this.#most);
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
      if (second && first[1].settledMeanwhile) this.#giveUp(first[0], "settled calls of other logs took its room");
      else if (second) this.#drop(first[0]);
      else if (first[1].index.shrinkTo(this.#most) === 0) return;
    }
  }

  #giveUp(organizationId: string, reason: string): void {
    const { clock, logger } = this.#options;
    const nowMs = clock.monotonicMs();
    this.#drop(organizationId);
    for (const [other, retryAtMs] of this.#retryAtMs) if (retryAtMs <= nowMs) this.#retryAtMs.delete(other);
    this.#retryAtMs.set(organizationId, nowMs + RETRY_MS);
    logger.warn({ organizationId, error: reason }, "the log could not be read into memory; queries scan the store");
  }

  #drop(organizationId: string): void {
    this.#entries.get(organizationId)?.dropped.abort();
    this.#entries.delete(organizationId);
  }
}
