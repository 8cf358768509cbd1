import { AppError } from "../../../common/errors.ts";
import type { UsageRow } from "../../domain/records.ts";
import type { LogPosition } from "./log-walk.ts";

/** What a log can be sorted by, largest first; rows with the same value are newest first. */
export const LOG_SORTS = ["createdAt", "cost", "tokens", "latencyMs"] as const;
export type LogSort = (typeof LOG_SORTS)[number];

/** A row's place in a sorted log. In the order of time the value is when its call began. */
export interface RankedPosition extends LogPosition {
  readonly value: number;
}

export function sortOf(name: string): LogSort {
  const sort = name === "" ? "createdAt" : LOG_SORTS.find((each) => each === name);
  if (sort) return sort;
  throw new AppError("VALIDATION_ERROR", `Logs are sorted by ${LOG_SORTS.join(", ")}.`);
}

export function sortValue({ createdAt, cost, usage, latencyMs }: UsageRow, sort: LogSort): number {
  // The index has costs as numbers too; beyond nine million dollars the last digits do not count.
  return { createdAt, cost: Number(cost), tokens: usage.total, latencyMs }[sort];
}

/** Whether a row is behind a position. */
function isBehind(row: RankedPosition, position: RankedPosition | undefined): boolean {
  if (!position) return true;
  if (row.value !== position.value) return row.value < position.value;
  return row.createdAt < position.createdAt || (row.createdAt === position.createdAt && row.id < position.id);
}

/** Collects the first rows behind a position, whatever order they come in. */
export class Leading {
  readonly #after: RankedPosition | undefined;
  readonly #wanted: number;
  #found: RankedPosition[] = [];
  /** Rows behind it are not wanted. */
  #last: RankedPosition | undefined;

  /** One more than `limit`, which tells whether there is another page. */
  constructor({ after, limit }: { after: RankedPosition | undefined; limit: number }) {
    this.#after = after;
    this.#wanted = limit + 1;
  }

  /** Whether rows with values in this range may be wanted. */
  mayHave({ least, most }: { least: number; most: number }): boolean {
    return (this.#last === undefined || most >= this.#last.value) && (this.#after === undefined || least <= this.#after.value);
  }

  /** The id is read only if value and time do not decide. It is given by its place, because most rows are not wanted. */
  offer(value: number, createdAt: number, ids: { idOf(place: number): string }, place: number): void {
    if (this.#last && (value < this.#last.value || (value === this.#last.value && createdAt < this.#last.createdAt))) return;
    if (this.#after && value > this.#after.value) return;
    const position = { value, createdAt, id: ids.idOf(place) };
    if (!isBehind(position, this.#after)) return;
    this.#found.push(position);
    if (this.#found.length >= 2 * this.#wanted) this.#cut();
  }

  sorted(): readonly RankedPosition[] {
    this.#cut();
    return this.#found;
  }

  #cut(): void {
    this.#found.sort((left, right) => (isBehind(right, left) ? -1 : 1));
    this.#found = this.#found.slice(0, this.#wanted);
    if (this.#found.length === this.#wanted) this.#last = this.#found.at(-1);
  }
}
