import type { Output } from "../io.ts";
import { cutLine } from "./text-width.ts";

/** Lines at the bottom of a terminal that are drawn over again, and lines above them that stay. */
export interface LiveBlock {
  /** Draws the block; what it held before is gone. */
  draw(lines: readonly string[]): void;
  /** A line that stays, above the block. */
  print(line: string): void;
}

export function liveBlock(output: Output): LiveBlock {
  // Nothing can be drawn over in a pipe or a file.
  if (!output.isTerminal) return { draw: () => undefined, print: (line) => output.write(`${line}\n`) };
  let drawn: readonly string[] = [];
  const erase = () => (drawn.length === 0 ? "" : `\u001b[${drawn.length}A\u001b[0J`);
  const render = (lines: readonly string[]) => lines.map((line) => `${line}\n`).join("");
  return {
    draw(wanted) {
      // A line that the terminal breaks is two: what is drawn over would no longer be what was drawn.
      const lines = wanted.map((line) => cutLine(line, output.columns));
      if (lines.join("\n") === drawn.join("\n")) return;
      output.write(erase() + render(lines));
      drawn = lines;
    },
    print(line) {
      output.write(`${erase()}${line}\n${render(drawn)}`);
    },
  };
}
