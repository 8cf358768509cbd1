import { liveBlock } from "./live-block.ts";
import { truncateLine } from "./text-width.ts";

test("no line of a block is wider than the terminal: a wrapped line would take two rows and break the redraw", () => {
  let written = "";
  const block = liveBlock({
    isTerminal: true,
    columns: 10,
    write: (text) => {
      written += text;
    },
  });
  block.draw(["a line of more than ten", "short"]);
  block.draw(["another line", "short"]);
  expect(written).toBe("a line of…\nshort\n\u001b[2A\u001b[0Janother l…\nshort\n");
});

test("color codes take no width in a line, and a cut resets them", () => {
  const green = "\u001b[32mgreen\u001b[0m";
  expect(truncateLine(`${green} line`, 10)).toBe(`${green} line`);
  expect(truncateLine(`${green} line`, 8)).toBe(`${green} l…\u001b[0m`);
  expect(truncateLine(green, 3)).toBe("\u001b[32mgr…\u001b[0m");
});
