import { z } from "zod";
import { id, paging, plainText, userId } from "../fields.ts";
import { auditEntryRecord, listOf } from "../records.ts";
import { dateFilters, rangeOf } from "./usage.ts";

const filters = {
  ...dateFilters,
  action: plainText(64).optional(),
  actor: userId.optional().describe("ID of the user who acted."),
  format: z.enum(["json", "jsonl"]).default("json").describe("`jsonl`: all matching entries, oldest first, one per line."),
};

export const listAuditQuery = z
  .object({ ...paging, ...filters, organizationId: id.optional() })
  .transform((query, context) => ({ ...query, range: rangeOf(query, context) }));
export const organizationAuditQuery = z
  .object({ ...paging, ...filters })
  .transform((query, context) => ({ ...query, range: rangeOf(query, context) }));
export const listAuditAnswer = listOf(auditEntryRecord);
export const verifyAuditAnswer = z.object({
  ok: z.boolean(),
  entries: z.bigint(),
  chained: z.bigint().describe("Entries with a hash: all that were written since the log is chained."),
  lastSeq: z.bigint(),
  hash: z.string().describe("Hash of the last entry."),
  firstBad: z.object({ seq: z.bigint(), reason: z.string(), kind: z.string() }).nullable(),
});
