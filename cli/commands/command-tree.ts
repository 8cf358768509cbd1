import type { Command } from "commander";
import { operationOf } from "../operations/register.ts";
import { examplesOf } from "./examples.ts";

export interface CommandNode {
  /** Without the program's own name: "keys create". */
  readonly path: string;
  readonly summary: string;
  /** The HTTP operation of the command; null if it has none or several. */
  readonly operation: string | null;
  readonly words: readonly { readonly name: string; readonly description: string; readonly required: boolean }[];
  readonly options: readonly { readonly flags: string; readonly description: string }[];
  readonly examples: readonly string[];
  readonly commands: readonly CommandNode[];
}

/** The command tree as data, for shell completion, machine-readable help and the test of API coverage. */
export function commandTree(command: Command, path = ""): CommandNode {
  return {
    path,
    summary: command.description(),
    operation: operationOf.get(command) ?? null,
    words: command.registeredArguments.map((argument) => ({
      name: argument.name(),
      description: argument.description,
      required: argument.required,
    })),
    options: command.options.map(({ flags, description }) => ({ flags, description })),
    examples: examplesOf(path),
    commands: command.commands.map((inner) => commandTree(inner, `${path} ${inner.name()}`.trim())),
  };
}

export function everyNode(node: CommandNode): CommandNode[] {
  return [node, ...node.commands.flatMap(everyNode)];
}
