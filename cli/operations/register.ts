import type { Command } from "commander";
import { type CliError, usageError } from "../cli-error.ts";
import { type Context, createContext, type GlobalFlags } from "../context.ts";
import type { Io } from "../io.ts";
import { isWord, type Options } from "./read-values.ts";
import { runOperation } from "./run-operation.ts";
import { similarTo } from "./similar.ts";
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
  const list = group.operations.find(({ name, view }) => name === group.default && view.kind === "list");
  for (const spec of group.operations) registerOperation(parent, io, list ? withPicker(spec, list) : spec, spec.name === group.default);
  return parent;
}

/** The last argument of a command is chosen from the group's list if it is missing. Commander wants no argument after an optional one. */
function withPicker(spec: OperationSpec, list: OperationSpec): OperationSpec {
  const words = spec.fields?.filter(isWord) ?? [];
  const [only] = words;
  if (words.length !== 1 || only === undefined || only.flag.startsWith("[") || only.pick === null) return spec;
  const optional = { ...only, flag: only.flag.replace("<", "[").replace(">", "]"), pick: only.pick ?? list };
  return { ...spec, fields: spec.fields?.map((field) => (field === only ? optional : field)) ?? [] };
}

/** Refuses words that are no commands, in every group that has a default: `gw keys creat` would otherwise be `gw keys list`. */
export function refuseMisspelled(command: Command): void {
  command.hook("preSubcommand", (_command, chosen) => refuseUnknownWord(command, chosen));
  for (const inner of command.commands) refuseMisspelled(inner);
}

function refuseUnknownWord(parent: Command, chosen: Command): void {
  const [word] = parent.args;
  const names = parent.commands.flatMap((command) => [command.name(), ...command.aliases()]);
  if (word === undefined || word.startsWith("-") || names.includes(word) || chosen.registeredArguments.length > 0) return;
  throw unknownCommand(word, names, commandPath(parent));
}

export function unknownCommand(word: string, names: readonly string[], path: string): CliError {
  const similar = similarTo(word, names);
  const hint = similar === undefined ? `List commands with ${path} --help.` : `Did you mean ${path} ${similar}?`;
  return usageError(`${path} has no command ${word}.`, hint);
}

/** "gw admin users": the words that lead to a command. */
export const commandPath = (command: Command): string =>
  command.parent ? `${commandPath(command.parent)} ${command.name()}` : command.name();

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
