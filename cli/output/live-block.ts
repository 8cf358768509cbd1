import type { Output } from "../io.ts";
import { truncateLine } from "./text-width.ts";

/** Lines at the bottom of a terminal that are redrawn in place, with permanent lines above them. */
export interface LiveBlock {
  /** Redraws the block. */
  draw(lines: readonly string[]): void;
  /** Prints a permanent line above the block. */
  print(line: string): void;
}

export function liveBlock(output: Output): LiveBlock {
  // A pipe or a file cannot be redrawn.
  if (!output.isTerminal) return { draw: () => undefined, print: (line) => output.write(`${line}\n`) };
  let drawn: readonly string[] = [];
  const erase = () => (drawn.length === 0 ? "" : `\u001b[${drawn.length}A\u001b[0J`);
  const render = (lines: readonly string[]) => lines.map((line) => `${line}\n`).join("");
  return {
    draw(wanted) {
      // Lines are truncated to the width, because a wrapped line would take two rows and break the redraw.
      const lines = wanted.map((line) => truncateLine(line, output.columns));
      if (lines.join("\n") === drawn.join("\n")) return;
      output.write(erase() + render(lines));
      drawn = lines;
    },
    print(line) {
      output.write(`${erase()}${line}\n${render(drawn)}`);
    },
  };
}
