import type { Io } from "../io.ts";
import { painter } from "./paint.ts";

const FILLED = "█";
const EMPTY = "░";

/** A progress bar of `width` characters. */
export function bar(done: number, total: number, width: number): string {
  const share = total > 0 ? Math.min(1, Math.max(0, done / total)) : 0;
  const filled = Math.round(share * width);
  return FILLED.repeat(filled) + EMPTY.repeat(width - filled);
}

export interface ProgressLine {
  show(done: number, total: number, label: string): void;
  clear(): void;
}

/** A progress line on stderr that overwrites itself; prints nothing if stderr is not a terminal. */
export function progressLine(io: Io): ProgressLine {
  const { stderr } = io;
  if (!stderr.isTerminal) return { show: () => undefined, clear: () => undefined };
  const paint = painter(stderr, io.env);
  return {
    show(done, total, label) {
      const width = Math.max(10, Math.min(30, stderr.columns - 40));
      const counted = `${String(done).padStart(String(total).length)}/${total}`;
      const room = Math.max(0, stderr.columns - width - counted.length - 4);
      stderr.write(`\r\u001b[2K${paint("green", bar(done, total, width))} ${counted} ${label.slice(0, room)}`);
    },
    clear: () => stderr.write("\r\u001b[2K"),
  };
}
