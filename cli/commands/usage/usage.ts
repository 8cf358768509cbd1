import type { Command } from "commander";
import { USAGE_STATUSES } from "../../../common/usage-status.ts";
import type { Io } from "../../io.ts";
import { registerOperation } from "../../operations/register.ts";
import { type Field, filter, type OperationSpec } from "../../operations/spec.ts";
import { format, valueAt } from "../../output/values.ts";

/** Filters of logs and usage. */
export const usageFilters: readonly Field[] = [
  filter("--from <date>", "start date or time", "startDate"),
  filter("--to <date>", "end date or time", "endDate"),
  filter("--tz <zone>", "time zone of the dates, such as Europe/Berlin", "tz"),
  filter("--key <id>", "filter by API key", "apiKey"),
  filter("--team <id>", "filter by team", "team_id"),
  filter("--model <name>", "filter by model", "model"),
  filter("--provider <id>", "filter by provider", "provider"),
  filter("--status <status>", "filter by status", "status", { choices: [...USAGE_STATUSES] }),
  filter("--end-user <id>", "filter by end user, exactly", "endUser"),
  filter("--tag <tag>", "filter by tag, exactly", "tag"),
  filter("--session <id>", "filter by session (metadata.session_id)", "session"),
  filter("--trace <id>", "filter by trace (the trace ID of traceparent)", "trace_id"),
  filter("--search <text>", "search in IDs, models and end users", "search"),
];

const GROUPS = ["none", "model", "provider", "team", "key", "user", "status", "hour", "day", "month"];

const usage: OperationSpec = {
  name: "usage",
  summary: "Show usage and cost, grouped by --by and --interval",
  method: "GET",
  path: "/api/gw/usage",
  auth: "user",
  fields: [
    filter("--by <what>", "group by", "groupBy", { choices: GROUPS }),
    filter("--interval <interval>", "time interval", "interval", { choices: ["hour", "day", "month", "all"] }),
    ...usageFilters,
  ],
  view: {
    kind: "list",
    columns: [
      { title: "from", at: "bucket", as: "time" },
      { title: "group", at: "group" },
      { title: "requests", at: "requests", as: "count" },
      { title: "errors", at: "errors", as: "count" },
      { title: "input", at: "input", as: "count" },
      { title: "output", at: "output", as: "count" },
      { title: "cost", at: "cost", as: "usd" },
    ],
    id: "bucket",
    empty: "No usage in this period.",
    paged: false,
  },
  after: ({ print }, { body }) => {
    const total = (name: string) => valueAt(body, `meta.totals.${name}`);
    if (print.json || print.quiet) return;
    print.note(
      `total: ${format(total("requests"), "count")} requests, ${format(total("tokens"), "count")} tokens, ${format(total("cost"), "usd")}`,
    );
  },
};

export function registerUsage(program: Command, io: Io): void {
  registerOperation(program, io, usage);
}
