import { z } from "zod";
import { id, paging, plainText } from "../fields.ts";
import { auditEntryRecord, listOf } from "../records.ts";

export const listAuditQuery = z.object({ ...paging, action: plainText(64).optional(), organizationId: id.optional() });
export const listAuditAnswer = listOf(auditEntryRecord);
export const verifyAuditAnswer = z.object({
  ok: z.boolean(),
  entries: z.bigint(),
  chained: z.bigint().describe("Entries with a hash: all that were written since the log is chained."),
  lastSeq: z.bigint(),
  hash: z.string().describe("Hash of the last entry."),
  firstBad: z.object({ seq: z.bigint(), reason: z.string(), kind: z.string() }).nullable(),
});
