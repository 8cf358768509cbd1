import { AppError } from "../../../common/errors.ts";
import type { ListRecordsRequest } from "../../../proto/gen/tributary/records/v1/records.ts";
import type { TeamRecord } from "../../domain/records.ts";
import { type ListPlace, placeId, scopeOf } from "../../domain/team-records.ts";
import type { Position, Reader } from "../../stores/store.ts";

/** A gRPC message has at most 4 MiB. */
const PAGE_BYTES_MAX = 3 * 1024 * 1024;
const PAGE_RECORDS_MAX = 1000;

/** A page in the requested order: records after `after`, directly before `before`, or between the two. */
export async function listRecords(reader: Reader, request: ListRecordsRequest): Promise<{ records: TeamRecord[]; hasMore: boolean }> {
  const scope = scopeOf(request);
  const limit = Math.min(request.limit, PAGE_RECORDS_MAX);
  if (limit < 1) throw new AppError("VALIDATION_ERROR", "limit must be at least 1.");
  const after = await cursorOf(reader, request, "after");
  const before = await cursorOf(reader, request, "before");
  // With only `before` the page ends there: it is read backward from that record and reversed.
  const isBackwards = before !== undefined && after === undefined;
  const reverse = request.descending !== isBackwards;
  const start = isBackwards ? before : after;
  const records: TeamRecord[] = [];
  let bytes = 0;
  let hasMore = false;
  const range = { index: "byScope", equals: [scope], reverse, limit: limit + 1, ...(start ? { after: positionOf(start) } : {}) } as const;
  for await (const record of reader.scan("records", range)) {
    if (!isBackwards && before !== undefined && isPast(record, before, request)) break;
    bytes += Buffer.byteLength(record.body);
    hasMore = records.length === limit || (records.length > 0 && bytes > PAGE_BYTES_MAX);
    if (hasMore) break;
    records.push(record);
  }
  return { records: isBackwards ? records.reverse() : records, hasMore };
}

function positionOf({ scope, sequence, id }: ListPlace): Position {
  return [scope, sequence, id];
}

/** Whether a record is the end of the page, or would be behind it if the end was removed. */
function isPast(record: TeamRecord, end: ListPlace, { descending }: ListRecordsRequest): boolean {
  return descending ? record.sequence <= end.sequence : record.sequence >= end.sequence;
}

/** Where a record is in the list, or was until it was removed. */
async function cursorOf(reader: Reader, request: ListRecordsRequest, name: "after" | "before"): Promise<ListPlace | undefined> {
  const id = request[name];
  if (id === undefined) return undefined;
  const scope = scopeOf(request);
  const record = await reader.get("records", id);
  if (record?.scope === scope) return record;
  const place = await reader.get("records", placeId(scope, id));
  if (place) return { scope, sequence: place.sequence, id };
  throw new AppError(
    "INVALID_REQUEST",
    `The list has no ${request.kind} ${id.slice(0, 100)}. Use the id of an object of the previous page.`,
    { param: name },
  );
}
