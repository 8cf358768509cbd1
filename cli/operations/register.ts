import type { Command } from "commander";
import { type Context, createContext, type GlobalFlags } from "../context.ts";
import type { Io } from "../io.ts";
import { isWord, type Options } from "./read-values.ts";
import { runOperation } from "./run-operation.ts";
import { type Field, filter, type Group, type OperationSpec } from "./spec.ts";

const PAGING: readonly Field[] = [
  filter("--page <n>", "page number", "page", { kind: "integer" }),
  filter("--page-size <n>", "items per page, up to 100", "pageSize", { kind: "integer" }),
];

/** The HTTP operation of each command. */
export const operationOf = new WeakMap<Command, string>();

/** Registers a group of commands. Returns the group's command, so that callers can add commands with custom actions. */
export function registerGroup(program: Command, io: Io, group: Group): Command {
  const parent = program.command(group.name).description(group.summary);
  for (const spec of group.operations) registerOperation(parent, io, spec, spec.name === group.default);
  return parent;
}

export function registerOperation(parent: Command, io: Io, spec: OperationSpec, isDefault = false): Command {
  const command = parent.command(spec.name, { isDefault }).description(spec.summary);
  const fields = pagedFields(spec);
  for (const field of fields) addField(command, field);
  if (isPaged(spec)) command.option("--all", "fetch all pages as one list");
  command.addHelpText("after", `\n${spec.method} ${spec.path}`);
  operationOf.set(command, `${spec.method} ${spec.path}`);
  return onAction(command, io, (context, words, options) => runOperation(context, { ...spec, fields }, { words, options }));
}

/** The fields of an operation, with paging fields for lists. */
export const pagedFields = (spec: OperationSpec): readonly Field[] => [...(spec.fields ?? []), ...(isPaged(spec) ? PAGING : [])];

const isPaged = ({ view }: OperationSpec): boolean => view.kind === "list" && view.paged !== false;

/** Gives a command a custom action. */
export function onAction(
  command: Command,
  io: Io,
  work: (context: Context, words: readonly string[], options: Options) => Promise<void>,
): Command {
  return command.action(async (...parts: unknown[]) => {
    // Commander passes the arguments, then the options, then the command itself.
    const words = parts
      .slice(0, -2)
      .flat()
      .filter((part): part is string => typeof part === "string");
    const context = await createContext(io, command.optsWithGlobals<GlobalFlags>());
    await work(context, words, command.opts());
  });
}

function addField(command: Command, field: Field): void {
  if (isWord(field)) command.argument(field.flag, field.description);
  else command.option(field.flag, field.choices ? `${field.description}: ${field.choices.join(", ")}` : field.description);
}
