import { CliError } from "../../cli-error.ts";
import { EXIT } from "../../exit-codes.ts";
import { filter, type Group, type OperationSpec } from "../../operations/spec.ts";
import { valueAt } from "../../output/values.ts";

const listAudit: OperationSpec = {
  name: "list",
  summary: "Show the audit log, newest first",
  method: "GET",
  path: "/api/admin/audit",
  auth: "user",
  fields: [
    filter("--action <action>", "filter by action, such as key.create", "action"),
    filter("--org <id>", "filter by organization", "organizationId"),
  ],
  view: {
    kind: "list",
    columns: [
      { title: "time", at: "at", as: "time" },
      { title: "actor", at: "actorId" },
      { title: "action", at: "action" },
      { title: "target", at: "target" },
      { title: "organization", at: "organizationId" },
    ],
    id: "seq",
    empty: "No audit entries.",
  },
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

export const adminAudit: Group = {
  name: "audit",
  summary: "Show and verify the audit log",
  default: "list",
  operations: [listAudit, verifyAudit],
};
