import { toJson } from "../../../common/json.ts";
import type { ListAuditRequest } from "../../../proto/gen/tributary/audit/v1/audit.ts";
import type { EdgeDeps } from "../../deps.ts";
import { ContentStream } from "../middleware/content-stream.ts";
import { DEADLINE_MS, type OperationCall } from "../middleware/operation.ts";
import { presentAuditEntry, presentList } from "./present.ts";

type Filter = Pick<ListAuditRequest, "action" | "start" | "end"> & { organizationId?: string | undefined; actor?: bigint | undefined };

/** A page of the audit log, or all of it as JSON lines. */
export async function readAudit(
  { control }: EdgeDeps,
  call: OperationCall,
  query: Filter & { page: number; pageSize: number; format: "json" | "jsonl"; ownOrganization: boolean },
) {
  const { page, pageSize, action, organizationId, actor: actorId, start, end, ownOrganization } = query;
  const filter = { action, organizationId, actorId, start, end, ownOrganization };
  // A filter scans the whole log.
  const options = () => call.read(DEADLINE_MS.export);
  if (query.format === "jsonl") {
    const parts = exportAudit((afterSeq) => control.audit.listAudit({ ...filter, page: undefined, afterSeq }, options()));
    return new ContentStream({ contentType: "application/jsonl; charset=utf-8", fileName: "audit-log.jsonl", parts });
  }
  const { entries, meta } = await control.audit.listAudit({ ...filter, page: { page, pageSize }, afterSeq: undefined }, options());
  return presentList(entries, meta, presentAuditEntry);
}

async function* exportAudit(readAfter: (seq: bigint) => ReturnType<EdgeDeps["control"]["audit"]["listAudit"]>): AsyncGenerator<string> {
  let after: bigint | undefined = 0n;
  do {
    const { entries, nextSeq }: Awaited<ReturnType<typeof readAfter>> = await readAfter(after);
    // An answer may have no entries although the export continues.
    if (entries.length > 0) yield `${entries.map((entry) => toJson(presentAuditEntry(entry))).join("\n")}\n`;
    after = nextSeq;
  } while (after !== undefined);
}
