import {
  chmodSync,
  closeSync,
  existsSync,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";

const TAIL_BYTES = 4_096;
const COPY_BYTES = 1024 * 1024;

/** When a log is put aside, and how many of those stay. */
export interface Rotation {
  readonly bytes: number;
  readonly kept: number;
}

export const ROTATION: Rotation = { bytes: 50 * 1024 * 1024, kept: 5 };

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
  /** Puts the text aside as `.1`, `.2` and so on if it is too large. */
  rotate(): void;
  close(): void;
}

export function openLogFile(folder: string, name: string, rotation: Rotation = ROTATION): LogFile {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, `${name}.log`);
  const descriptor = openSync(path, "a+", 0o600);
  // The mode above applies only to a new file.
  chmodSync(path, 0o600);
  const size = () => fstatSync(descriptor).size;
  if (size() > rotation.bytes) putAside({ path, descriptor, kept: rotation.kept });
  let marked = size();
  let seen = marked;
  let unshown = Buffer.alloc(0);
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
      const all = Buffer.concat([unshown, bytes]);
      unshown = Buffer.alloc(0);
      return all;
    },
    rotate: () => {
      const end = size();
      if (end <= rotation.bytes) return;
      // A log that is not shown on the terminal is held up to this size.
      unshown = read(Math.max(seen, end - COPY_BYTES), end);
      putAside({ path, descriptor, kept: rotation.kept });
      marked = 0;
      seen = 0;
    },
    close: () => closeSync(descriptor),
  };
}

/**
 * Copies the text and truncates the file: the child goes on writing to its own descriptor, which appends. All of it happens in one step of
 * this process, so that at most a line that the child writes in the moment between the last read and the truncation is lost.
 */
function putAside({ path, descriptor, kept }: { path: string; descriptor: number; kept: number }): void {
  rmSync(`${path}.${kept}`, { force: true });
  for (let number = kept - 1; number >= 1; number--)
    if (existsSync(`${path}.${number}`)) renameSync(`${path}.${number}`, `${path}.${number + 1}`);
  const copy = openSync(`${path}.1`, "w", 0o600);
  const piece = Buffer.allocUnsafe(COPY_BYTES);
  for (let at = 0, bytes = 1; bytes > 0; at += bytes) {
    bytes = readSync(descriptor, piece, 0, piece.length, at);
    writeSync(copy, piece, 0, bytes);
  }
  ftruncateSync(descriptor, 0);
  closeSync(copy);
}
