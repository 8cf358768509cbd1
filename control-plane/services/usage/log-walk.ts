import type { Rollup, UsageRow } from "../../domain/records.ts";
import { ROLLUP_MS } from "../../domain/settlement.ts";
import type { Range, Reader } from "../../stores/store.ts";
import type { ScanBudget } from "./log-scans.ts";

/** A prepared log filter: restricted to what the actor may see, with resolved names and bounds in milliseconds. */
export interface UsageQuery {
  organizationId: string;
  start: number | undefined;
  end: number | undefined;
  keyId: string | undefined;
  teamId: string | undefined;
  search: string | undefined;
  /** Tests end user and tags, which roll-ups do not have; absent: all match. */
  matchesLabels?: ((endUser: string, tags: readonly string[]) => boolean) | undefined;
  /** Tests the fields that rows and roll-ups have in common. */
  matches(dimensions: Pick<Rollup, "teamId" | "apiKeyId" | "model" | "provider" | "status">): boolean;
}

/** Whether only rows can answer a query: roll-ups have no text, end user or tag. */
export function needsRows({ search, matchesLabels }: Pick<UsageQuery, "search" | "matchesLabels">): boolean {
  return search !== undefined || matchesLabels !== undefined;
}

/** Position of a scan, newest first: rows that began later, or at the same moment with a greater or equal id, are behind it. */
export interface LogPosition {
  readonly createdAt: number;
  readonly id: string;
}

interface Window {
  readonly start: number | undefined;
  readonly end: number | undefined;
}

/** Scans the rows that match a query, newest first, within the budget. */
export class LogWalk {
  readonly #reader: Reader;
  readonly #query: UsageQuery;
  readonly #budget: ScanBudget;
  readonly #after: LogPosition | undefined;
  #skip: number;
  #position: LogPosition | undefined;

  constructor(reader: Reader, query: UsageQuery, options: { budget: ScanBudget; after?: LogPosition | undefined; skip?: number }) {
    this.#reader = reader;
    this.#query = query;
    this.#budget = options.budget;
    this.#after = options.after;
    this.#position = options.after;
    this.#skip = options.skip ?? 0;
  }

  /** The position where the scan stopped; rows after it were not read. */
  get position(): LogPosition | undefined {
    return this.#position;
  }

  /**
   * A search, an end user or a tag reads every row. Other filters use the roll-ups: only quarters of an hour with a match are read, and those before the
   * requested page are skipped whole.
   */
  async *rows(): AsyncGenerator<UsageRow> {
    const { start, end } = this.#query;
    if (needsRows(this.#query)) {
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
    // A window that ends before the position needs no cut.
    const isInside = this.#after && (window.end === undefined || this.#after.createdAt < window.end);
    if (this.#after && isInside && owner !== undefined) range.after = [owner, this.#after.createdAt, this.#after.id];
    for await (const row of this.#reader.scan("usage", range)) {
      const slot = this.#budget.count();
      if (slot) await slot;
      if (this.#budget.isSpent) return;
      this.#position = { createdAt: row.createdAt, id: row.id };
      // The organization is checked on every row: tenant isolation must not depend on a team or key index alone.
      const isMatch =
        row.organizationId === query.organizationId && query.matches(row) && hasLabels(row, query) && isFound(row, query.search);
      if (isMatch && this.#skip-- <= 0) yield row;
    }
  }

  /** Quarters of an hour with calls, newest first, with the number of matching calls. */
  async *#buckets(): AsyncGenerator<{ bucketAt: number; requests: number }> {
    let open: { bucketAt: number; requests: number } | undefined;
    for await (const rollup of this.#reader.scan("rollups", this.#rollupRange())) {
      const slot = this.#budget.count();
      if (slot) await slot;
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

  /** The budget ended among the roll-ups of this bucket, before its rows. An earlier position inside the bucket stays. */
  #stopBefore(bucketAt: number): void {
    const end = bucketAt + ROLLUP_MS;
    if (this.#position === undefined || this.#position.createdAt >= end) this.#position = { createdAt: end, id: "" };
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

function hasLabels({ endUser = "", tags }: UsageRow, { matchesLabels }: UsageQuery): boolean {
  return matchesLabels === undefined || matchesLabels(endUser, tags);
}

function isFound(row: UsageRow, search: string | undefined): boolean {
  if (search === undefined) return true;
  const texts = [row.id, row.model, row.provider, row.apiKeyName, row.teamName, row.endpoint, row.endUser ?? "", row.errorCode ?? ""];
  return [...texts, ...row.tags].some((text) => text.toLowerCase().includes(search));
}
