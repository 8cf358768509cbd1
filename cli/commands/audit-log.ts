import type { Command } from "commander";
import type { Io } from "../io.ts";
import { readValues } from "../operations/read-values.ts";
import { onAction, pagedFields } from "../operations/register.ts";
import { runOperation } from "../operations/run-operation.ts";
import { type Field, filter, type OperationSpec } from "../operations/spec.ts";
import type { View } from "../output/printer.ts";

export const auditFilters: readonly Field[] = [
  filter("--from <date>", "start date or time", "startDate"),
  filter("--to <date>", "end date or time", "endDate"),
  filter("--tz <zone>", "time zone of the dates, such as Europe/Berlin", "tz"),
  filter("--action <action>", "filter by action, such as key.create", "action"),
  filter("--actor <id>", "filter by the user who acted", "actor"),
];

export const auditView: View = {
  kind: "list",
  columns: [
    { title: "time", at: "at", as: "time" },
    { title: "actor", at: "actorEmail" },
    { title: "user id", at: "actorId" },
    { title: "action", at: "action" },
    { title: "target", at: "target" },
    { title: "organization", at: "organizationId" },
  ],
  id: "seq",
  empty: "No audit entries.",
};

/** Adds --jsonl to the command of an audit log. */
export function addJsonLines(group: Command, io: Io, spec: OperationSpec): void {
  const command = group.commands.find((one) => one.name() === spec.name);
  if (!command) return;
  command.option("--jsonl", "export all matching entries as JSON lines, oldest first");
  onAction(command, io, async (context, words, options) => {
    if (!options["jsonl"]) return runOperation(context, { ...spec, fields: pagedFields(spec) }, { words, options });
    const { query } = await readValues(context, spec.fields ?? [], { words, options });
    const request = { method: "GET", path: spec.path, query: { ...query, format: "jsonl" }, auth: spec.auth, untimed: true } as const;
    const response = await context.client.open(request);
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) context.print.text(decoder.decode(chunk, { stream: true }));
  });
}
