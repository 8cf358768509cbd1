import { z } from "zod";
import { id, name, paging, plainText } from "./fields.ts";
import { auditEntryRecord, listOf, userRecord } from "./records.ts";

export const listUsersAnswer = listOf(userRecord);
export const userAnswer = z.object({ user: userRecord });
export const updateUserBody = z
  .object({ name: name.optional(), role: z.enum(["user", "admin"]).optional() })
  .refine((body) => body.name !== undefined || body.role !== undefined, { message: "must have a name or a role" });
export const deletedUserAnswer = z.object({ deleted: z.literal(true), id: z.bigint() });

export const blockTeamBody = z.object({ reason: plainText(500).optional() });

export const listAuditQuery = z.object({ ...paging, action: plainText(64).optional(), organizationId: id.optional() });
export const listAuditAnswer = listOf(auditEntryRecord);
