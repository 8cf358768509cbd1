import type { Command } from "commander";
import type { Io } from "../io.ts";
import { commandPath, unknownCommand } from "../operations/register.ts";
import { documentJson } from "../output/json.ts";
import { commandTree } from "./command-tree.ts";

/** `gw help keys create` prints help; with --json it prints the command tree. */
export function registerHelp(program: Command, io: Io): void {
  program.helpCommand(false);
  program
    .command("help [command...]")
    .description("Show help for a command; --json prints the command tree")
    .action((words: readonly string[]) => {
      const command = words.reduce<Command>((found, name) => childOf(found, name), program);
      if (program.opts()["json"] === true) io.stdout.write(documentJson(commandTree(command, words.join(" "))));
      else command.outputHelp();
    });
}

function childOf(parent: Command, name: string): Command {
  const child = parent.commands.find((command) => command.name() === name || command.aliases().includes(name));
  if (!child) {
    const names = parent.commands.map((command) => command.name());
    throw unknownCommand(name, names, commandPath(parent));
  }
  return child;
}
