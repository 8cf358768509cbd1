/** Which lines of the input are done: all before `line`, and those in `ahead`. */
export interface BatchProgress {
  /** The first line that is not done, counted from 1, and its offset. */
  readonly line: number;
  readonly offset: number;
  /** Finished lines after `line`; `next` is the offset of the line after each. */
  readonly ahead: readonly { readonly line: number; readonly next: number }[];
}

export const NOTHING_DONE: BatchProgress = { line: 1, offset: 0, ahead: [] };

/** Adds a finished line; `next` is the offset of the line after it. */
export function withDone(progress: BatchProgress, done: { line: number; next: number }): BatchProgress {
  const ahead = [...progress.ahead, done].sort((left, right) => left.line - right.line);
  let { line, offset } = progress;
  let count = 0;
  for (const known of ahead) {
    if (known.line > line) break;
    count++;
    if (known.line < line) continue;
    line++;
    offset = known.next;
  }
  return { line, offset, ahead: ahead.slice(count) };
}

export function isDone(progress: BatchProgress, line: number): boolean {
  return line < progress.line || progress.ahead.some((known) => known.line === line);
}
