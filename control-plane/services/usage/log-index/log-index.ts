import { setImmediate as nextTurn } from "node:timers/promises";
import type { UsageRow } from "../../../domain/records.ts";
import { Leading, type LogSort, type RankedPosition } from "../log-order.ts";
import { needsRows, type UsageQuery } from "../log-walk.ts";
import { emptySums, LogChunk, type LogWindow, type RowSums } from "./log-chunk.ts";

/** Chunks between two yields to the event loop: some milliseconds. Each yield may wait for a settlement, which takes longer. */
const CHUNKS_A_TURN = 32;
/** Text that a search reads between two yields. */
const TEXT_BYTES_A_TURN = 4 * 1024 * 1024;
/** Rows that are added between two yields. */
const ROWS_A_TURN = 1_000;

/** The first rows that match, and sums over all that match. */
export interface IndexPage {
  /** As sorted; one more than requested if there is another page. */
  readonly positions: readonly RankedPosition[];
  readonly sums: RowSums;
}

export interface IndexRequest {
  readonly sort: LogSort;
  readonly after: RankedPosition | undefined;
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
  #bytes = 0;
  /** Rows that began earlier are not in the index; -Infinity: every row is. */
  coveredFrom = Number.NEGATIVE_INFINITY;

  get rows(): number {
    return this.#rows;
  }

  /** What the texts of its rows take. */
  get bytes(): number {
    return this.#bytes;
  }

  add(row: UsageRow): void {
    if (row.createdAt < this.coveredFrom) return;
    const open = this.#chunks.at(-1);
    const chunk = open && !open.isFull ? open : new LogChunk();
    if (chunk !== open) this.#chunks.push(chunk);
    const before = chunk.bytes;
    chunk.add(row);
    this.#rows++;
    this.#bytes += chunk.bytes - before;
  }

  /** Adds those rows that it does not have. Nothing else may be added meanwhile. */
  async addMissing(rows: readonly UsageRow[]): Promise<void> {
    const missing = new Set(rows.map(({ id }) => id));
    const oldestAt = rows.reduce((oldest, { createdAt }) => Math.min(oldest, createdAt), Number.POSITIVE_INFINITY);
    for (const chunk of [...this.#chunks]) {
      if (missing.size === 0 || chunk.span.newestAt < oldestAt) continue;
      chunk.removeKnown(missing);
      await nextTurn();
    }
    for (const [number, row] of rows.entries()) {
      if (missing.delete(row.id)) this.add(row);
      if (number % ROWS_A_TURN === ROWS_A_TURN - 1) await nextTurn();
    }
  }

  /** Forgets the oldest chunks until at most so many rows and bytes are left. Returns how many rows it forgot. */
  shrinkTo({ rows, bytes }: { rows: number; bytes: number }): number {
    const before = this.#rows;
    for (const chunk of this.#chunks.toSorted((left, right) => left.span.newestAt - right.span.newestAt)) {
      if (this.#rows <= rows && this.#bytes <= bytes) break;
      this.#chunks = this.#chunks.filter((other) => other !== chunk);
      this.#rows -= chunk.rows;
      this.#bytes -= chunk.bytes;
      this.coveredFrom = Math.max(this.coveredFrom, chunk.span.newestAt + 1);
    }
    return before - this.#rows;
  }

  async find(query: UsageQuery, window: LogWindow, request: IndexRequest): Promise<IndexPage> {
    const { sort } = request;
    const leading = new Leading(request);
    const sums = emptySums();
    const byAge = this.#chunks.toSorted((left, right) => right.span.newestAt - left.span.newestAt);
    const turns = new Turns();
    for (const chunk of byAge) {
      if (turns.isOver) await turns.next();
      request.signal.throwIfAborted();
      if (chunk.span.newestAt < window.start || chunk.span.oldestAt >= window.end) continue;
      turns.count(needsRows(query) ? chunk.bytes : 0);
      const offer = (place: number, at: number) => leading.offer(chunk.valueAt(sort, place), at, chunk, place);
      const mayLead = leading.mayHave(chunk.rangeOf(sort));
      if (request.withSums) chunk.sum(query, window, sums, mayLead ? offer : undefined);
      else if (mayLead) chunk.eachMatch(query, window, offer);
    }
    return { positions: leading.sorted(), sums };
  }
}

/** Decides when a walk over chunks yields to the event loop. */
class Turns {
  #chunks = 0;
  #bytes = 0;

  count(bytes: number): void {
    this.#chunks++;
    this.#bytes += bytes;
  }

  get isOver(): boolean {
    return this.#chunks >= CHUNKS_A_TURN || this.#bytes >= TEXT_BYTES_A_TURN;
  }

  async next(): Promise<void> {
    this.#chunks = 0;
    this.#bytes = 0;
    await nextTurn();
  }
}
