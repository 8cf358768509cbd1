import type { Rollup, UsageRow } from "../../../domain/records.ts";
import type { LogSort } from "../log-order.ts";
import { needsRows, type UsageQuery } from "../log-walk.ts";
import { copyOf, Distinct, isAscii, TEXT_END, TextColumn } from "./text-columns.ts";

/** Rows of a full chunk. A chunk is scanned in less than a millisecond. */
export const CHUNK_ROWS = 8_192;

/** What many rows have in common. A filter is decided once for each of them instead of once for each row. */
interface Shape extends Pick<Rollup, "teamId" | "apiKeyId" | "model" | "provider" | "status"> {
  /** Calls that a refused row stands for; 0 for other rows. */
  readonly refused: number;
  /** Lower case, for the search. */
  readonly text: string;
}

/** Sums over rows, as the log's totals have them. */
export interface RowSums {
  rows: number;
  requests: number;
  refused: number;
  tokens: number;
  cost: bigint;
}

/** A part of the log in time: `start` is inclusive, `end` exclusive. */
export interface LogWindow {
  readonly start: number;
  readonly end: number;
}

/** Called with the place of a row and when its call began. */
type Visit = (place: number, at: number) => void;

/** What a distinct label takes besides its text, and a shape besides its key. */
const LABEL_BYTES = 80;
const SHAPE_BYTES = 512;

/** Up to `CHUNK_ROWS` usage rows as columns, 40 bytes each, and their texts. Rows are in no order. */
export class LogChunk {
  #rows = 0;
  #oldestAt = Number.POSITIVE_INFINITY;
  #newestAt = Number.NEGATIVE_INFINITY;
  readonly #at = new Float64Array(CHUNK_ROWS);
  readonly #cost = new Float64Array(CHUNK_ROWS);
  readonly #tokens = new Float64Array(CHUNK_ROWS);
  readonly #latencyMs = new Uint32Array(CHUNK_ROWS);
  readonly #shapeOf = new Uint16Array(CHUNK_ROWS);
  readonly #labelOf = new Uint16Array(CHUNK_ROWS);
  readonly #shapes = new Distinct<Shape>();
  /** End user and tags. */
  readonly #labels = new Distinct<string>();
  readonly #labelTexts = new TextColumn(CHUNK_ROWS);
  readonly #text = { characters: 0, overhead: 0, isAscii: true };
  readonly #sums: RowSums[] = [];
  readonly #ids = new TextColumn(CHUNK_ROWS);
  readonly #ranges = { cost: emptyRange(), tokens: emptyRange(), latencyMs: emptyRange() };

  get rows(): number {
    return this.#rows;
  }

  get isFull(): boolean {
    return this.#rows === CHUNK_ROWS;
  }

  /** What its texts take: ids once, labels by themselves and joined, shapes with their keys. */
  get bytes(): number {
    const { characters, overhead, isAscii } = this.#text;
    return characters * (isAscii ? 1 : 2) + overhead;
  }

  /** When its first and last call began. */
  get span(): { readonly oldestAt: number; readonly newestAt: number } {
    return { oldestAt: this.#oldestAt, newestAt: this.#newestAt };
  }

  add(row: UsageRow): void {
    const place = this.#rows++;
    const shape = this.#shapeCode(row);
    this.#at[place] = row.createdAt;
    // A call of nine million dollars would lose its last digits.
    this.#cost[place] = Number(row.cost);
    this.#tokens[place] = row.usage.total;
    this.#latencyMs[place] = row.latencyMs;
    for (const sort of ["cost", "tokens", "latencyMs"] as const) widen(this.#ranges[sort], this.valueAt(sort, place));
    this.#shapeOf[place] = shape;
    this.#labelOf[place] = this.#labelCode(labelOf(row));
    this.#ids.push(row.id);
    this.#count(row.id, { copies: 1, overhead: TEXT_END.length });
    this.#oldestAt = Math.min(this.#oldestAt, row.createdAt);
    this.#newestAt = Math.max(this.#newestAt, row.createdAt);
    const sums = this.#sums[shape] ?? emptySums();
    this.#sums[shape] = sums;
    addRow(sums, { refused: (this.#shapes.values[shape] as Shape).refused, tokens: row.usage.total, cost: row.cost });
    if (this.isFull) this.#labelTexts.compact();
  }

  #shapeCode(row: UsageRow): number {
    const key = shapeKey(row);
    const known = this.#shapes.codeOf(key);
    if (known !== undefined) return known;
    this.#count(key, { copies: 2, overhead: SHAPE_BYTES });
    return this.#shapes.put(key, shapeOf(row));
  }

  #labelCode(label: string): number {
    const known = this.#labels.codeOf(label);
    if (known !== undefined) return known;
    this.#count(label, { copies: 2, overhead: LABEL_BYTES });
    const copy = copyOf(label);
    this.#labelTexts.push(copy.toLowerCase());
    return this.#labels.put(copy, copy);
  }

  #count(text: string, { copies, overhead }: { copies: number; overhead: number }): void {
    this.#text.characters += copies * text.length;
    this.#text.overhead += overhead;
    this.#text.isAscii &&= isAscii(text);
  }

  idOf(place: number): string {
    return this.#ids.at(place);
  }

  /** What a row is sorted by. */
  valueAt(sort: LogSort, place: number): number {
    switch (sort) {
      case "createdAt":
        return this.#at[place] as number;
      case "cost":
        return this.#cost[place] as number;
      case "tokens":
        return this.#tokens[place] as number;
      case "latencyMs":
        return this.#latencyMs[place] as number;
    }
  }

  /** The least and the most of what its rows are sorted by. */
  rangeOf(sort: LogSort): { readonly least: number; readonly most: number } {
    return sort === "createdAt" ? { least: this.#oldestAt, most: this.#newestAt } : this.#ranges[sort];
  }

  /** Removes those ids from the set that the chunk has. */
  removeKnown(ids: Set<string>): void {
    for (let place = 0; place < this.#rows && ids.size > 0; place++) ids.delete(this.idOf(place));
  }

  /**
   * Adds the matching rows of a window to the sums, and visits them. Whole chunks without a search are summed already, by shape: without a visitor their rows
   * are not read.
   */
  sum(query: UsageQuery, window: LogWindow, into: RowSums, visit?: Visit): void {
    if (!needsRows(query) && window.start <= this.#oldestAt && window.end > this.#newestAt) {
      for (const [code, shape] of this.#shapes.values.entries()) if (query.matches(shape)) addSums(into, this.#sums[code] as RowSums);
      if (visit) this.eachMatch(query, window, visit);
      return;
    }
    const refused = this.#shapes.values.map((shape) => shape.refused);
    const cost = new NumberSum();
    this.eachMatch(query, window, (place, at) => {
      visit?.(place, at);
      cost.add(this.#cost[place] as number);
      addRow(into, { refused: refused[this.#shapeOf[place] as number] as number, tokens: this.#tokens[place] as number, cost: 0n });
    });
    into.cost += cost.total;
  }

  /** Visits the places of the rows that match, in no order. */
  eachMatch(query: UsageQuery, { start, end }: LogWindow, visit: Visit): void {
    const allowed = verdicts(this.#shapes.values, (shape) => query.matches(shape));
    if (!allowed.includes(1)) return;
    const labeled = this.#labeled(query);
    if (labeled && !labeled.includes(1)) return;
    const search = this.#searched(query.search);
    const look = (place: number) => {
      const shape = this.#shapeOf[place] as number;
      const label = this.#labelOf[place] as number;
      if (allowed[shape] !== 1 || (labeled && labeled[label] !== 1)) return;
      if (search && search.shapes[shape] !== 1 && search.labels[label] !== 1 && !search.ids.has(place)) return;
      const at = this.#at[place] as number;
      if (at >= start && at < end) visit(place, at);
    };
    if (search?.isInIdsOnly) for (const place of search.ids) look(place);
    else for (let place = 0; place < this.#rows; place++) look(place);
  }

  /** Which labels have the wanted end user and tag; undefined: all. */
  #labeled({ matchesLabels }: UsageQuery): Uint8Array | undefined {
    if (!matchesLabels) return undefined;
    return verdicts(this.#labels.values, (label) => {
      const [endUser = "", ...tags] = label.split(TEXT_END);
      return matchesLabels(endUser, tags);
    });
  }

  /** Where the search is: in which shapes, labels and ids. Undefined: nothing is searched for. */
  #searched(search: string | undefined): Searched | undefined {
    if (search === undefined) return undefined;
    const isText = !search.includes(TEXT_END);
    const shapes = verdicts(this.#shapes.values, ({ text }) => isText && text.includes(search));
    const labels = new Uint8Array(this.#labels.values.length);
    for (const label of isText ? this.#labelTexts.containing(search) : []) labels[label] = 1;
    const ids: ReadonlySet<number> = isText ? this.#ids.containing(search) : new Set();
    return { shapes, labels, ids, isInIdsOnly: !labels.includes(1) && !shapes.includes(1) };
  }
}

/** The parts of a chunk that contain a searched text. */
interface Searched {
  readonly shapes: Uint8Array;
  readonly labels: Uint8Array;
  readonly ids: ReadonlySet<number>;
  /** Only the rows with these ids have to be looked at. */
  readonly isInIdsOnly: boolean;
}

export function emptySums(): RowSums {
  return { rows: 0, requests: 0, refused: 0, tokens: 0, cost: 0n };
}

const emptyRange = () => ({ least: Number.POSITIVE_INFINITY, most: Number.NEGATIVE_INFINITY });

function widen(range: { least: number; most: number }, value: number): void {
  range.least = Math.min(range.least, value);
  range.most = Math.max(range.most, value);
}

function addRow(sums: RowSums, { refused, tokens, cost }: { refused: number; tokens: number; cost: bigint }): void {
  sums.rows++;
  sums.tokens += tokens;
  sums.cost += cost;
  if (refused > 0) sums.refused += refused;
  else sums.requests++;
}

function addSums(sums: RowSums, { rows, requests, refused, tokens, cost }: RowSums): void {
  sums.rows += rows;
  sums.requests += requests;
  sums.refused += refused;
  sums.tokens += tokens;
  sums.cost += cost;
}

/** A sum of integers that stays exact: numbers are added as long as that is exact, because adding bigints is slow. */
class NumberSum {
  #total = 0n;
  #open = 0;

  add(value: number): void {
    const sum = this.#open + value;
    if (sum <= Number.MAX_SAFE_INTEGER) {
      this.#open = sum;
      return;
    }
    this.#total += BigInt(this.#open);
    this.#open = value;
  }

  get total(): bigint {
    return this.#total + BigInt(this.#open);
  }
}

function verdicts<T>(values: readonly T[], test: (value: T) => boolean): Uint8Array {
  return Uint8Array.from(values, (value) => (test(value) ? 1 : 0));
}

function shapeKey(row: UsageRow): string {
  const { teamId, teamName, apiKeyId, apiKeyName, model, provider, status, endpoint, errorCode, refused } = row;
  return JSON.stringify([teamId, teamName, apiKeyId, apiKeyName, model, provider, status, endpoint, errorCode, refused]);
}

function shapeOf(row: UsageRow): Shape {
  const { teamId, teamName, apiKeyId, apiKeyName, model, provider, status, endpoint, errorCode = "" } = row;
  const text = [model, provider, apiKeyName, teamName, endpoint, errorCode].join(TEXT_END).toLowerCase();
  return { teamId, apiKeyId, model, provider, status, refused: status === "refused" ? (row.refused ?? 1) : 0, text };
}

function labelOf({ endUser = "", tags }: UsageRow): string {
  return tags.length === 0 ? endUser : [endUser, ...tags].join(TEXT_END);
}
