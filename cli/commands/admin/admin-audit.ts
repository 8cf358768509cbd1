import type { Command } from "commander";
import { CliError } from "../../cli-error.ts";
import { EXIT } from "../../exit-codes.ts";
import type { Io } from "../../io.ts";
import { registerGroup } from "../../operations/register.ts";
import { filter, type OperationSpec } from "../../operations/spec.ts";
import { valueAt } from "../../output/values.ts";
import { addJsonLines, auditFilters, auditView } from "../audit-log.ts";

const listAudit: OperationSpec = {
  name: "list",
  summary: "Show the audit log, newest first",
  method: "GET",
  path: "/api/admin/audit",
  auth: "user",
  fields: [...auditFilters, filter("--org <id>", "filter by organization", "organizationId")],
  view: auditView,
};

const verifyAudit: OperationSpec = {
  name: "verify",
  summary: "Verify the hash chain of the audit log. Exits with 1 if an entry is wrong",
  method: "GET",
  path: "/api/admin/audit/verify",
  auth: "either",
  view: {
    kind: "record",
    fields: [
      { title: "valid", at: "ok", as: "yesno" },
      { title: "entries", at: "entries", as: "count" },
      { title: "chained", at: "chained", as: "count" },
      { title: "last entry", at: "lastSeq", as: "count" },
      { title: "hash", at: "hash" },
      { title: "first invalid entry", at: "firstBad.seq" },
      { title: "reason", at: "firstBad.reason" },
    ],
    id: "hash",
  },
  after: (_context, { body }) => {
    if (valueAt(body, "ok") === true) return;
    const [seq, reason] = [valueAt(body, "firstBad.seq"), valueAt(body, "firstBad.reason")];
    throw new CliError(EXIT.failure, { error: `The audit log is not valid: entry ${String(seq)}: ${String(reason)}`, code: "AUDIT_WRONG" });
  },
};

export function registerAdminAudit(admin: Command, io: Io): void {
  const operations = [listAudit, verifyAudit];
  const group = registerGroup(admin, io, { name: "audit", summary: "Show, export and verify the audit log", operations, default: "list" });
  addJsonLines(group, io, listAudit);
}
