import { setImmediate as nextTurn } from "node:timers/promises";
import type { UsageRow } from "../../../domain/records.ts";
import type { LogPosition, UsageQuery } from "../log-walk.ts";
import { emptySums, isAfter, LogChunk, type LogWindow, type RowSums } from "./log-chunk.ts";

/** Chunks between two yields to the event loop: some milliseconds. Each yield may wait for a settlement, which takes longer. */
const CHUNKS_A_TURN = 32;

/** The newest rows that match, and sums over all that match. */
export interface IndexPage {
  /** Newest first; one more than requested if there is another page. */
  readonly positions: readonly LogPosition[];
  readonly sums: RowSums;
}

export interface IndexRequest {
  readonly after: LogPosition | undefined;
  /** Rows from the first match on, those before the page included. */
  readonly limit: number;
  readonly withSums: boolean;
  readonly signal: AbortSignal;
}

/**
 * The rows of an organization's log in memory, from `coveredFrom` on, as columns. It is derived from the store: what is lost with the process is read
 * again. Rows are added in the order in which they are settled, so chunks overlap in time.
 */
export class LogIndex {
  /** Oldest first, by when they were filled. */
  #chunks: LogChunk[] = [];
  #rows = 0;
  /** Rows that began earlier are not in the index; -Infinity: every row is. */
  coveredFrom = Number.NEGATIVE_INFINITY;

  get rows(): number {
    return this.#rows;
  }

  add(row: UsageRow): void {
    if (row.createdAt < this.coveredFrom) return;
    const open = this.#chunks.at(-1);
    const chunk = open && !open.isFull ? open : new LogChunk();
    if (chunk !== open) this.#chunks.push(chunk);
    chunk.add(row);
    this.#rows++;
  }

  /** Adds those rows that it does not have. */
  addMissing(rows: readonly UsageRow[]): void {
    const missing = new Set(rows.map(({ id }) => id));
    const oldestAt = rows.reduce((oldest, { createdAt }) => Math.min(oldest, createdAt), Number.POSITIVE_INFINITY);
    for (const chunk of this.#chunks) if (chunk.span.newestAt >= oldestAt) chunk.removeKnown(missing);
    for (const row of rows) if (missing.delete(row.id)) this.add(row);
  }

  /** Forgets the oldest chunks until at most so many rows are left. Returns how many rows it forgot. */
  shrinkTo(rowsMax: number): number {
    const before = this.#rows;
    for (const chunk of this.#chunks.toSorted((left, right) => left.span.newestAt - right.span.newestAt)) {
      if (this.#rows <= rowsMax) break;
      this.#chunks = this.#chunks.filter((other) => other !== chunk);
      this.#rows -= chunk.rows;
      this.coveredFrom = Math.max(this.coveredFrom, chunk.span.newestAt + 1);
    }
    return before - this.#rows;
  }

  async find(query: UsageQuery, window: LogWindow, request: IndexRequest): Promise<IndexPage> {
    const newest = new Newest(request);
    const sums = emptySums();
    const byAge = this.#chunks.toSorted((left, right) => right.span.newestAt - left.span.newestAt);
    for (const [number, chunk] of byAge.entries()) {
      if (number % CHUNKS_A_TURN === CHUNKS_A_TURN - 1) await nextTurn();
      request.signal.throwIfAborted();
      if (chunk.span.newestAt < window.start || chunk.span.oldestAt >= window.end) continue;
      const offer = (place: number, at: number) => newest.offer(chunk, place, at);
      if (request.withSums) chunk.sum(query, window, sums, newest.mayHave(chunk) ? offer : undefined);
      else if (newest.mayHave(chunk)) chunk.eachMatch(query, window, offer);
    }
    return { positions: newest.sorted(), sums };
  }
}

/** Collects the newest rows behind a position. */
class Newest {
  readonly #after: LogPosition | undefined;
  readonly #wanted: number;
  #found: LogPosition[] = [];
  /** Rows that began earlier are not among the newest. */
  #oldestAt = Number.NEGATIVE_INFINITY;

  constructor({ after, limit }: Pick<IndexRequest, "after" | "limit">) {
    this.#after = after;
    this.#wanted = limit + 1;
  }

  mayHave({ span }: LogChunk): boolean {
    return span.newestAt >= this.#oldestAt && (this.#after === undefined || span.oldestAt <= this.#after.createdAt);
  }

  offer(chunk: LogChunk, place: number, createdAt: number): void {
    if (createdAt < this.#oldestAt || (this.#after && createdAt > this.#after.createdAt)) return;
    const position = { createdAt, id: chunk.idOf(place) };
    if (!isAfter(position, this.#after)) return;
    this.#found.push(position);
    if (this.#found.length >= 2 * this.#wanted) this.#cut();
  }

  sorted(): readonly LogPosition[] {
    this.#cut();
    return this.#found;
  }

  #cut(): void {
    this.#found.sort((left, right) => (isAfter(right, left) ? -1 : 1));
    this.#found = this.#found.slice(0, this.#wanted);
    if (this.#found.length === this.#wanted) this.#oldestAt = this.#found.at(-1)?.createdAt ?? this.#oldestAt;
  }
}
