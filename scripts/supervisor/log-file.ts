import { chmodSync, closeSync, fstatSync, mkdirSync, openSync, readSync, renameSync, statSync } from "node:fs";
import { join } from "node:path";

const ROTATE_BYTES = 50 * 1024 * 1024;
const TAIL_BYTES = 4_096;

/**
 * The log of one child. The child writes to the file directly, because a crash of the supervisor would otherwise break the pipe
 * of a child that is still settling its last calls.
 */
export interface LogFile {
  readonly path: string;
  readonly descriptor: number;
  /** The last lines written since this object was opened or `mark` was called. */
  tail(lines: number): string[];
  mark(): void;
  /** Text written since the last call, for the terminal. */
  unread(): Buffer;
  close(): void;
}

export function openLogFile(folder: string, name: string, rotateBytes = ROTATE_BYTES): LogFile {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, `${name}.log`);
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) > rotateBytes) renameSync(path, `${path}.1`);
  const descriptor = openSync(path, "a+", 0o600);
  // The mode above applies only to a new file.
  chmodSync(path, 0o600);
  const size = () => fstatSync(descriptor).size;
  let marked = size();
  let seen = marked;
  const read = (from: number, to: number) => {
    const bytes = Buffer.alloc(Math.max(0, to - from));
    return bytes.subarray(0, readSync(descriptor, bytes, 0, bytes.length, from));
  };
  return {
    path,
    descriptor,
    tail: (lines) => {
      const end = size();
      return read(Math.max(marked, end - TAIL_BYTES), end)
        .toString("utf8")
        .trimEnd()
        .split("\n")
        .slice(-lines)
        .filter(Boolean);
    },
    mark: () => {
      marked = size();
    },
    unread: () => {
      const bytes = read(seen, size());
      seen += bytes.length;
      return bytes;
    },
    close: () => closeSync(descriptor),
  };
}
