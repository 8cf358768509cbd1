import type { Rollup, UsageRow } from "../../domain/records.ts";
import { ROLLUP_MS } from "../../domain/settlement.ts";
import type { Range, Reader } from "../../stores/store.ts";
import type { ScanBudget } from "./log-scans.ts";

/** A log filter made ready: what the actor may see, resolved names, bounds in milliseconds. */
export interface UsageQuery {
  organizationId: string;
  start: number | undefined;
  end: number | undefined;
  keyId: string | undefined;
  teamId: string | undefined;
  search: string | undefined;
  /** For what rows and roll-ups have in common. */
  matches(dimensions: Pick<Rollup, "teamId" | "apiKeyId" | "model" | "provider" | "status">): boolean;
}

/** Where a walk stands: rows that began later, or at the same moment under a greater or equal id, lie behind it. */
export interface LogPlace {
  readonly createdAt: number;
  readonly id: string;
}

interface Window {
  readonly start: number | undefined;
  readonly end: number | undefined;
}

/** The rows that match a query, newest first, as far as the budget goes. */
export class LogWalk {
  readonly #reader: Reader;
  readonly #query: UsageQuery;
  readonly #budget: ScanBudget;
  readonly #after: LogPlace | undefined;
  #skip: number;
  #place: LogPlace | undefined;

  constructor(reader: Reader, query: UsageQuery, options: { budget: ScanBudget; after?: LogPlace | undefined; skip?: number }) {
    this.#reader = reader;
    this.#query = query;
    this.#budget = options.budget;
    this.#after = options.after;
    this.#place = options.after;
    this.#skip = options.skip ?? 0;
  }

  /** Where it stopped, once its budget is spent; what lies beyond was not looked at. */
  get place(): LogPlace | undefined {
    return this.#place;
  }

  /**
   * A text search looks at every row. Everything else is in the roll-ups: only quarters of an hour that hold a match are read, and those
   * that lie before the asked page are left out whole.
   */
  async *rows(): AsyncGenerator<UsageRow> {
    const { start, end, search } = this.#query;
    if (search !== undefined) {
      yield* this.rowsWithin({ start, end });
      return;
    }
    for await (const { bucketAt, requests } of this.#buckets()) {
      const bucket = { start: bucketAt, end: bucketAt + ROLLUP_MS };
      if (requests === 0) continue;
      if (requests <= this.#skip && this.#isWhole(bucket)) {
        this.#skip -= requests;
        continue;
      }
      yield* this.rowsWithin({ start: Math.max(start ?? bucket.start, bucket.start), end: Math.min(end ?? bucket.end, bucket.end) });
      if (this.#budget.isSpent) return;
    }
  }

  /** Matching rows of a part of the query's window. */
  async *rowsWithin(window: Window): AsyncGenerator<UsageRow> {
    const query = this.#query;
    const range: Range<"usage"> = { ...rowRange(query, window), reverse: true };
    const [owner] = range.equals ?? [];
    // A window that ends before the place has nothing behind it.
    const isInside = this.#after && (window.end === undefined || this.#after.createdAt < window.end);
    if (this.#after && isInside && owner !== undefined) range.after = [owner, this.#after.createdAt, this.#after.id];
    for await (const row of this.#reader.scan("usage", range)) {
      const place = this.#budget.count();
      if (place) await place;
      if (this.#budget.isSpent) return;
      this.#place = { createdAt: row.createdAt, id: row.id };
      // The organization is checked on every row: a team or key index alone must never be what keeps tenants apart.
      const isMatch = row.organizationId === query.organizationId && query.matches(row) && isFound(row, query.search);
      if (isMatch && this.#skip-- <= 0) yield row;
    }
  }

  /** Quarters of an hour with calls, newest first, and how many of them match. */
  async *#buckets(): AsyncGenerator<{ bucketAt: number; requests: number }> {
    let open: { bucketAt: number; requests: number } | undefined;
    for await (const rollup of this.#reader.scan("rollups", this.#rollupRange())) {
      const place = this.#budget.count();
      if (place) await place;
      if (open && open.bucketAt !== rollup.bucketAt) {
        yield open;
        open = undefined;
      }
      if (this.#budget.isSpent) return this.#stopBefore(open?.bucketAt ?? rollup.bucketAt);
      open ??= { bucketAt: rollup.bucketAt, requests: 0 };
      if (this.#query.matches(rollup)) open.requests += rollup.requests;
    }
    if (open) yield open;
  }

  /** The budget ended among the roll-ups of this bucket, before its rows: a place within it, reached before, stays. */
  #stopBefore(bucketAt: number): void {
    const end = bucketAt + ROLLUP_MS;
    if (this.#place === undefined || this.#place.createdAt >= end) this.#place = { createdAt: end, id: "" };
  }

  #rollupRange(): Range<"rollups"> {
    const { organizationId, start, end } = this.#query;
    const range: Range<"rollups"> = { index: "byOrganization", equals: [organizationId], reverse: true };
    if (start !== undefined) range.from = Math.floor(start / ROLLUP_MS) * ROLLUP_MS;
    const ends = [end, this.#after && this.#after.createdAt + 1].filter((bound) => bound !== undefined);
    if (ends.length > 0) range.before = Math.min(...ends);
    return range;
  }

  #isWhole(bucket: { start: number; end: number }): boolean {
    const { start, end } = this.#query;
    return this.#after === undefined && (start === undefined || start <= bucket.start) && (end === undefined || end >= bucket.end);
  }
}

function rowRange(query: UsageQuery, { start, end }: Window): Range<"usage"> {
  const range: Range<"usage"> =
    query.keyId !== undefined
      ? { index: "byKey", equals: [query.keyId] }
      : query.teamId !== undefined
        ? { index: "byTeam", equals: [query.teamId] }
        : { index: "byOrganization", equals: [query.organizationId] };
  if (start !== undefined) range.from = start;
  if (end !== undefined) range.before = end;
  return range;
}

function isFound(row: UsageRow, search: string | undefined): boolean {
  if (search === undefined) return true;
  const texts = [row.id, row.model, row.provider, row.apiKeyName, row.teamName, row.endpoint, row.endUser ?? "", row.errorCode ?? ""];
  return texts.some((text) => text.toLowerCase().includes(search));
}
