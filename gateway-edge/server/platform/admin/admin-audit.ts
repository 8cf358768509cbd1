import type { EdgeDeps } from "../../../deps.ts";
import * as schemas from "../../../schemas/platform/audit.ts";
import { DEADLINE_MS, type Operation, operation } from "../../middleware/operation.ts";
import { readAudit } from "../audit.ts";

const tag = "Admin";
const auth = "admin";

export function adminAuditOperations(deps: EdgeDeps): Operation[] {
  return [listAudit(deps), verifyAudit(deps)];
}

const listAudit = (deps: EdgeDeps) =>
  operation({
    method: "get",
    path: "/api/admin/audit",
    summary: "List the audit log, newest first, as JSON or JSON lines",
    tag,
    auth,
    query: schemas.listAuditQuery,
    status: 200,
    answer: schemas.listAuditAnswer,
    handler: ({ query }, call) => readAudit(deps, call, { ...query, ...query.range, ownOrganization: false }),
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
