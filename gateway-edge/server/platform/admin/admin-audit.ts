import type { EdgeDeps } from "../../../deps.ts";
import * as schemas from "../../../schemas/platform/audit.ts";
import { DEADLINE_MS, type Operation, operation } from "../../middleware/operation.ts";
import { presentAuditEntry, presentList } from "../present.ts";

const tag = "Admin";
const auth = "admin";

export function adminAuditOperations(deps: EdgeDeps): Operation[] {
  return [listAudit(deps), verifyAudit(deps)];
}

const listAudit = ({ control }: EdgeDeps) =>
  operation({
    method: "get",
    path: "/api/admin/audit",
    summary: "List the audit log, newest first",
    tag,
    auth,
    query: schemas.listAuditQuery,
    status: 200,
    answer: schemas.listAuditAnswer,
    handler: async ({ query: { page, pageSize, action, organizationId } }, call) => {
      const { entries, meta } = await control.audit.listAudit({ page: { page, pageSize }, action, organizationId }, call.read());
      return presentList(entries, meta, presentAuditEntry);
    },
  });

const verifyAudit = ({ control }: EdgeDeps) =>
  operation({
    method: "get",
    path: "/api/admin/audit/verify",
    summary: "Verify the hash chain of the audit log",
    tag,
    auth,
    status: 200,
    answer: schemas.verifyAuditAnswer,
    handler: async (_input, call) => {
      const { ok, entries, chained, lastSeq, hash, firstBad } = await control.audit.verifyAudit({}, call.read(DEADLINE_MS.verify));
      const bad = firstBad && { seq: firstBad.seq, reason: firstBad.reason, kind: firstBad.kind };
      return { ok, entries, chained, lastSeq, hash, firstBad: bad ?? null };
    },
  });
