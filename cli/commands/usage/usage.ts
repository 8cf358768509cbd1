import type { Command } from "commander";
import type { Io } from "../../io.ts";
import { registerOperation } from "../../operations/register.ts";
import { type Field, filter, type OperationSpec } from "../../operations/spec.ts";
import { shown, valueAt } from "../../output/values.ts";

/** What logs and usage are narrowed by. */
export const usageFilters: readonly Field[] = [
  filter("--from <date>", "from this day or moment on", "startDate"),
  filter("--to <date>", "up to this day or moment", "endDate"),
  filter("--tz <zone>", "time zone of the days, such as Europe/Berlin", "tz"),
  filter("--key <id>", "of this API key", "apiKey"),
  filter("--team <id>", "of this team", "team_id"),
  filter("--model <name>", "of this model", "model"),
  filter("--provider <id>", "of this provider", "provider"),
  filter("--status <status>", "how they ended", "status", { choices: ["success", "error", "cancelled"] }),
  filter("--search <text>", "in ids, models, end users", "search"),
];

const GROUPS = ["none", "model", "provider", "team", "key", "user", "status", "hour", "day", "month"];

const usage: OperationSpec = {
  name: "usage",
  summary: "What was used and what it cost, summed by day and whatever --by names",
  method: "GET",
  path: "/api/gw/usage",
  auth: "user",
  fields: [
    filter("--by <what>", "what to sum by", "groupBy", { choices: GROUPS }),
    filter("--interval <interval>", "how long a line is", "interval", { choices: ["hour", "day", "month", "all"] }),
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
    empty: "Nothing used in this time.",
    paged: false,
  },
  after: ({ print }, { body }) => {
    const total = (name: string) => valueAt(body, `meta.totals.${name}`);
    if (print.json || print.quiet) return;
    print.note(
      `in all ${shown(total("requests"), "count")} requests, ${shown(total("tokens"), "count")} tokens, ${shown(total("cost"), "usd")}`,
    );
  },
};

export function registerUsage(program: Command, io: Io): void {
  registerOperation(program, io, usage);
}
