import { AppError } from "../../../common/errors.ts";
import type { CallContext, ServiceHandlers } from "../../../common/grpc/server.ts";
import type {
  AuditEntry as AuditEntryMessage,
  AuditServiceService,
  ListAuditRequest,
} from "../../../proto/gen/tributary/audit/v1/audit.ts";
import type { AuditEntry } from "../../domain/records.ts";
import { checkAudit } from "../../proof/check-audit.ts";
import { type Actor, requireActor, requireAdmin } from "../actor.ts";
import type { ControlDeps } from "../deps.ts";
import { date, metaOf, pageOf } from "../messages.ts";
import { type AuditFilter, readAuditAfter, readAuditPage } from "./read-audit.ts";

export function auditHandlers(deps: ControlDeps): ServiceHandlers<typeof AuditServiceService> {
  return {
    async listAudit(request, context) {
      const { organizationId } = request.ownOrganization ? await requireOwner(deps, context) : await requireAdmin(deps, context);
      const filter = filterOf(request.ownOrganization ? { ...request, organizationId } : request);
      if (request.afterSeq !== undefined) {
        const { entries, nextSeq } = await readAuditAfter(deps.store, filter, Number(request.afterSeq));
        return { entries: await messagesOf(deps, entries), meta: undefined, nextSeq: nextSeq === undefined ? undefined : BigInt(nextSeq) };
      }
      const page = pageOf(request.page);
      const { records, total } = await deps.logScans.run({ organizationId, signal: context.signal, isUnlimited: true }, (budget) =>
        readAuditPage(deps.store, { filter, page, budget }),
      );
      return { entries: await messagesOf(deps, records), meta: metaOf(page, total), nextSeq: undefined };
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

async function requireOwner(deps: ControlDeps, context: CallContext): Promise<Actor> {
  const actor = await requireActor(deps, context);
  if (actor.organizationRole !== "owner") throw new AppError("FORBIDDEN", "Only an owner of the organization may read its audit log.");
  return actor;
}

function filterOf({ action, organizationId, actorId, start, end }: ListAuditRequest): AuditFilter {
  return {
    action,
    organizationId,
    actorId: actorId === undefined ? undefined : Number(actorId),
    start: start?.getTime(),
    end: end?.getTime(),
  };
}

/** Entries with the addresses of their actors, because people know each other by address and not by number. */
async function messagesOf({ store }: Pick<ControlDeps, "store">, entries: readonly AuditEntry[]): Promise<AuditEntryMessage[]> {
  const ids = [...new Set(entries.flatMap(({ actorId }) => actorId ?? []))];
  const emails = new Map((await store.getMany("users", ids)).flatMap((user) => (user ? [[user.id, user.email] as const] : [])));
  return entries.map((entry) => entryMessage(entry, entry.actorId === undefined ? undefined : emails.get(entry.actorId)));
}

function entryMessage(entry: AuditEntry, actorEmail: string | undefined): AuditEntryMessage {
  return {
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
    actorEmail,
  };
}
