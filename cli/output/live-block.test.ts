import { liveBlock } from "./live-block.ts";
import { cutLine } from "./text-width.ts";

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

test("colours take no room in a line, and end where it is cut", () => {
  const green = "\u001b[32mgreen\u001b[0m";
  expect(cutLine(`${green} line`, 10)).toBe(`${green} line`);
  expect(cutLine(`${green} line`, 8)).toBe(`${green} l…\u001b[0m`);
  expect(cutLine(green, 3)).toBe("\u001b[32mgr…\u001b[0m");
});
