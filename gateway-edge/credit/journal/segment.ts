/** What is known in memory of one file of the journal. */
export interface Segment {
  readonly path: string;
  readonly epoch: number;
  readonly number: number;
  readonly firstSequence: number;
  /** Below `firstSequence` while nothing is in it. */
  lastSequence: number;
  lastFinal: number;
  bytes: number;
  /** Calls that began in this file, and of whose end nothing is safe on disk: without the file a crash would forget them. */
  openCalls: number;
  /** It is on disk, and what was last waited for is safe in it. */
  safe: boolean;
}

const NAME = /^(\d{16})-(\d{6})\.journal$/;

/** The names sort as the files were written. */
export function segmentName({ epoch, number }: { epoch: number; number: number }): string {
  return `${String(epoch).padStart(16, "0")}-${String(number).padStart(6, "0")}.journal`;
}

/** The epoch of a file by its name alone, for a file whose header cannot be read. */
export function epochOfName(name: string): number {
  return Number(NAME.exec(name)?.[1] ?? 0);
}

export function isSegmentName(name: string): boolean {
  return NAME.test(name);
}

/**
 * The oldest files that nothing needs any more: every final in them was acknowledged and no call that began in them is open. Always from the
 * oldest on, because a file may hold what belongs to calls of the file before it; and never the newest that is safe, which knows
 * how far the epochs and sequences went.
 */
export function removable(segments: readonly Segment[], watermark: number): Segment[] {
  const needed = segments.findIndex(
    ({ lastFinal, openCalls }, index) => lastFinal > watermark || openCalls > 0 || segments[index + 1]?.safe !== true,
  );
  return segments.slice(0, needed);
}
