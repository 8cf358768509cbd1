import type { Command } from "commander";
import { fakeIo } from "../io-fixture.ts";
import { buildProgram } from "../program.ts";
import { commandTree, everyNode } from "./command-tree.ts";

const leaves = everyNode(commandTree(buildProgram(fakeIo()))).filter(({ commands }) => commands.length === 0);

test("the help of every command has an example of that command", () => {
  const strayed = leaves.filter(({ path, examples }) => {
    const own = examples.filter((line) => line.includes(`gw ${path.replace(/ (list|show|status|history)$/, "")}`));
    return own.length === 0 || own.length < examples.length;
  });
  expect(strayed.map(({ path }) => path)).toEqual([]);
});

test("every example is a command line that gw accepts, and runs the command whose help shows it", async () => {
  for (const { path, examples } of leaves) {
    for (const line of examples) expect({ line, runs: await commandOf(line) }).toEqual({ line, runs: path });
  }
});

/** The command that a line runs, with actions that do nothing. */
async function commandOf(line: string): Promise<string> {
  const program = buildProgram(fakeIo());
  let run = "";
  withoutActions(program, "", (path) => {
    run = path;
  });
  await program.parseAsync(wordsOf(line), { from: "user" });
  return run;
}

function withoutActions(command: Command, path: string, onRun: (path: string) => void): void {
  if (command.commands.length === 0) command.action(() => onRun(path));
  for (const inner of command.commands) withoutActions(inner, `${path} ${inner.name()}`.trim(), onRun);
}

/** The words after `gw`, as a shell reads them, without what follows a pipe, a redirection or a closing parenthesis. */
function wordsOf(line: string): string[] {
  const own = line.slice(line.indexOf("gw ") + 3).split(/ [<>|] |\)/)[0] ?? "";
  return [...own.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(([, double, single, plain]) => double ?? single ?? plain ?? "");
}
