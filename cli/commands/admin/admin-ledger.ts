import type { Command } from "commander";
import { CliError } from "../../cli-error.ts";
import { EXIT } from "../../exit-codes.ts";
import type { Io } from "../../io.ts";
import { registerGroup } from "../../operations/register.ts";
import { filter, type OperationSpec } from "../../operations/spec.ts";
import { valueAt } from "../../output/values.ts";

const verify: OperationSpec = {
  name: "verify",
  summary: "Verify the whole ledger, or what was written since its newest checkpoint. Exits with 1 if an entry is wrong",
  method: "GET",
  path: "/api/admin/ledger/verify",
  // The endpoint also takes the master key, so that a script does not need a password.
  auth: "either",
  fields: [filter("--mode <mode>", "full (default), or fast: begin at the newest checkpoint", "mode", { choices: ["full", "fast"] })],
  view: {
    kind: "record",
    fields: [
      { title: "valid", at: "ok", as: "yesno" },
      { title: "entries", at: "entries", as: "count" },
      { title: "accounts", at: "accounts", as: "count" },
      { title: "calls", at: "usageRows", as: "count" },
      { title: "roll-ups", at: "rollups", as: "count" },
      { title: "sum (must be 0)", at: "sum", as: "count" },
      { title: "last entry", at: "lastSeq", as: "count" },
      { title: "anchors", at: "anchors", as: "count" },
      { title: "checked since checkpoint", at: "checkpoint.number", as: "count" },
      { title: "hash of the newest anchor", at: "hash" },
      { title: "first invalid record", at: "firstBad.record" },
      { title: "reason", at: "firstBad.reason" },
    ],
    id: "hash",
  },
  after: (_context, { body }) => {
    if (valueAt(body, "ok") === true) return;
    throw new CliError(EXIT.failure, {
      error: `The ledger is not valid: ${String(valueAt(body, "firstBad.reason"))}`,
      code: "LEDGER_WRONG",
    });
  },
};

const replay: OperationSpec = {
  name: "replay",
  summary: "Recompute balances at a point in time from ledger entries, and costs with other prices",
  method: "GET",
  path: "/api/admin/ledger/replay",
  auth: "either",
  fields: [
    filter("--as-of <time>", "point in time (now)", "asOf", { kind: "time" }),
    filter("--with-prices <time>", "reprice calls with the prices at this time", "withPrices", { kind: "time" }),
  ],
  view: {
    kind: "list",
    columns: [
      { title: "organization", at: "organizationId" },
      { title: "name", at: "name" },
      { title: "balance", at: "balance", as: "usd" },
      { title: "entries", at: "entries", as: "count" },
      { title: "repriced by", at: "repricing.difference", as: "usd" },
    ],
    id: "organizationId",
    empty: "No organizations.",
  },
  after: ({ print }, { body }) => {
    const difference = valueAt(body, "rollups.firstDifference.reason");
    if (difference !== undefined)
      throw new CliError(EXIT.failure, { error: `Roll-ups differ: ${String(difference)}`, code: "ROLLUPS_DIFFER" });
    if (!print.json) print.note(`as of ${String(valueAt(body, "asOf"))}; roll-ups match the usage rows`);
  },
};

export function registerAdminLedger(admin: Command, io: Io): void {
  registerGroup(admin, io, { name: "ledger", summary: "Verify and replay the ledger", operations: [verify, replay] });
}
