import type { Command } from "commander";
import { CliError } from "../../cli-error.ts";
import { EXIT } from "../../exit-codes.ts";
import type { Io } from "../../io.ts";
import { registerGroup } from "../../operations/register.ts";
import { filter, type OperationSpec } from "../../operations/spec.ts";
import { valueAt } from "../../output/values.ts";

const verify: OperationSpec = {
  name: "verify",
  summary: "Re-read all the books; fails when one entry is wrong",
  method: "GET",
  path: "/api/admin/ledger/verify",
  // The master key opens it too, so that a script needs nobody's password.
  auth: "either",
  view: {
    kind: "record",
    fields: [
      { title: "right", at: "ok", as: "yesno" },
      { title: "entries", at: "entries", as: "count" },
      { title: "accounts", at: "accounts", as: "count" },
      { title: "calls", at: "usageRows", as: "count" },
      { title: "roll-ups", at: "rollups", as: "count" },
      { title: "sum (must be 0)", at: "sum", as: "count" },
      { title: "last entry", at: "lastSeq", as: "count" },
      { title: "hash", at: "hash" },
      { title: "first bad", at: "firstBad.record" },
      { title: "why", at: "firstBad.reason" },
    ],
    id: "hash",
  },
  after: (_context, { body }) => {
    if (valueAt(body, "ok") === true) return;
    throw new CliError(EXIT.failure, { error: `The books are wrong: ${String(valueAt(body, "firstBad.reason"))}`, code: "LEDGER_WRONG" });
  },
};

const replay: OperationSpec = {
  name: "replay",
  summary: "Balances of a moment made again from entries alone, and what calls would have cost at other prices",
  method: "GET",
  path: "/api/admin/ledger/replay",
  auth: "either",
  fields: [
    filter("--as-of <time>", "of this moment", "asOf", { kind: "time" }),
    filter("--with-prices <time>", "with the prices of this moment", "withPrices", { kind: "time" }),
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
    empty: "No organisations.",
  },
  after: ({ print }, { body }) => {
    const difference = valueAt(body, "rollups.firstDifference.reason");
    if (difference !== undefined)
      throw new CliError(EXIT.failure, { error: `Roll-ups differ: ${String(difference)}`, code: "ROLLUPS_DIFFER" });
    if (!print.json) print.note(`as of ${String(valueAt(body, "asOf"))}; roll-ups made again from the rows: equal`);
  },
};

export function registerAdminLedger(admin: Command, io: Io): void {
  registerGroup(admin, io, { name: "ledger", summary: "Proof that the books are right", operations: [verify, replay] });
}
