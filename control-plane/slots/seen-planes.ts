import type { PlaneRow } from "../stores/ownership-rows.ts";

/** A plane whose beat did not change for this long, by the observer's own clock, is dead. */
const DEAD_MS = 5_000;
/** A plane gets slots of a living owner this long after it was seen first: edges need a moment to connect to it. */
const JOIN_MS = 3_000;

interface Seen {
  readonly row: PlaneRow;
  /** When the beat was seen to change; counted after the read, so that it is never before the beat itself. */
  readonly changedAtMs: number;
  readonly firstAtMs: number;
}

/** The planes as one of them sees the others, by its own monotonic clock. */
export class SeenPlanes {
  #seen = new Map<string, Seen>();
  /** When the newest read began: a plane that beat before would have been seen. */
  #readAtMs = Number.NEGATIVE_INFINITY;

  /** Takes what a read returned that lasted from `beganMs` to `endedMs`. */
  observe(rows: readonly PlaneRow[], { beganMs, endedMs }: { beganMs: number; endedMs: number }): void {
    const isFirst = this.#readAtMs === Number.NEGATIVE_INFINITY;
    this.#readAtMs = beganMs;
    this.#seen = new Map(
      rows.map((row) => {
        const before = this.#seen.get(row.id);
        const firstAtMs = before?.firstAtMs ?? (isFirst ? Number.NEGATIVE_INFINITY : endedMs);
        return [row.id, { row, firstAtMs, changedAtMs: before?.row.beat === row.beat ? before.changedAtMs : endedMs }];
      }),
    );
  }

  get all(): readonly PlaneRow[] {
    return [...this.#seen.values()].map(({ row }) => row);
  }

  /** A plane that has not been silent for too long; undefined for one that is dead, or has no row. */
  living(id: string): PlaneRow | undefined {
    const seen = this.#seen.get(id);
    return seen && this.#silenceMs(seen) < DEAD_MS ? seen.row : undefined;
  }

  /** Living planes that edges know by now. */
  joined(nowMs: number): readonly PlaneRow[] {
    return [...this.#seen.values()]
      .filter((seen) => this.#silenceMs(seen) < DEAD_MS && nowMs - seen.firstAtMs >= JOIN_MS)
      .map(({ row }) => row);
  }

  /** Planes that have been silent for longer than this. */
  silent(forMs: number): readonly PlaneRow[] {
    return [...this.#seen.values()].filter((seen) => this.#silenceMs(seen) > forMs).map(({ row }) => row);
  }

  #silenceMs({ changedAtMs }: Seen): number {
    return this.#readAtMs - changedAtMs;
  }
}
