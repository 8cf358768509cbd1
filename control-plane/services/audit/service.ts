import type { ServiceHandlers } from "../../../common/grpc/server.ts";
import type { AuditServiceService } from "../../../proto/gen/tributary/audit/v1/audit.ts";
import type { AuditEntry } from "../../domain/records.ts";
import { checkAudit } from "../../proof/check-audit.ts";
import { readPage } from "../../stores/page.ts";
import { requireAdmin } from "../actor.ts";
import type { ControlDeps } from "../deps.ts";
import { date, metaOf, pageOf } from "../messages.ts";

export function auditHandlers(deps: ControlDeps): ServiceHandlers<typeof AuditServiceService> {
  return {
    async listAudit(request, context) {
      await requireAdmin(deps, context);
      const page = pageOf(request.page);
      const { action, organizationId } = request;
      const filtered = action !== undefined || organizationId !== undefined;
      const where = (entry: AuditEntry) =>
        (action === undefined || entry.action === action) && (organizationId === undefined || entry.organizationId === organizationId);
      const { records, total } = await readPage(deps.store, "audit", { ...page, range: { reverse: true }, ...(filtered ? { where } : {}) });
      return {
        entries: records.map((entry) => ({
          seq: BigInt(entry.id),
          at: date(entry.at),
          actorId: entry.actorId === undefined ? undefined : BigInt(entry.actorId),
          actorKind: entry.actorKind,
          action: entry.action,
          target: entry.target,
          organizationId: entry.organizationId,
          requestId: entry.requestId,
          details: entry.details,
          hash: entry.hash,
        })),
        meta: metaOf(page, total),
      };
    },

    async verifyAudit(_request, context) {
      await requireAdmin(deps, context);
      const { head, entries, chained, fault } = await checkAudit(deps.store, context.signal);
      return {
        ok: fault === undefined,
        entries: BigInt(entries),
        chained: BigInt(chained),
        lastSeq: BigInt(head.value),
        hash: head.hash ?? "",
        firstBad: fault && { ...fault, seq: BigInt(fault.seq) },
      };
    },
  };
}
