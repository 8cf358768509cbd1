/** Which lines of the input are done: all before `line`, and of those behind it the ones in `ahead`. */
export interface Progress {
  /** The first line that is not done, from 1 on, and where it begins. */
  readonly line: number;
  readonly offset: number;
  /** With where the line after it begins. */
  readonly ahead: readonly { readonly line: number; readonly next: number }[];
}

export const NOTHING_DONE: Progress = { line: 1, offset: 0, ahead: [] };

/** One more line done; `next` is where the line after it begins. */
export function withDone(progress: Progress, done: { line: number; next: number }): Progress {
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

export function isDone(progress: Progress, line: number): boolean {
  return line < progress.line || progress.ahead.some((known) => known.line === line);
}
