/** The in-memory state of one journal file. */
export interface Segment {
  readonly path: string;
  readonly epoch: number;
  readonly number: number;
  readonly firstSequence: number;
  /** Below `firstSequence` while the file is empty. */
  lastSequence: number;
  lastFinal: number;
  bytes: number;
  /** Calls with their intent in this file and without a durable final: without the file a crash would lose them. */
  openCalls: number;
  /** The file exists on disk, and the last awaited write to it is durable. */
  safe: boolean;
}

const NAME = /^(\d{16})-(\d{6})\.journal$/;

/** File names sort in the order of writing. */
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
 * The oldest files that nothing needs: every final in them is acknowledged and no call that began in them is open. Removal always starts
 * with the oldest, because a file may hold records of calls that began in the file before it. It never removes the newest durable file,
 * which holds the last epoch and sequence.
 */
export function removable(segments: readonly Segment[], watermark: number): Segment[] {
  const needed = segments.findIndex(
    ({ lastFinal, openCalls }, index) => lastFinal > watermark || openCalls > 0 || segments[index + 1]?.safe !== true,
  );
  return segments.slice(0, needed);
}
