import { z } from "zod";
import { email, guardrailNames, id, name, nanoAmount, plainText, teamRole, timeZone } from "../fields.ts";
import { listOf, organizationRecord, teamDetailRecord, teamMemberRecord, teamRecord } from "../records.ts";
import { budgetFields } from "./budgets.ts";
import { contentFields } from "./contents.ts";
import { rateLimitFields } from "./rate-limits.ts";
import { semanticCacheField } from "./semantic-cache.ts";

export const listTeamsAnswer = listOf(teamRecord);
/** Null is no limit. */
const limits = {
  models: z.array(plainText(200)).max(200).nullish(),
  guardrails: guardrailNames.nullish(),
  ...rateLimitFields,
  ...budgetFields,
};
export type TeamLimitFields = z.output<z.ZodObject<typeof limits>>;
export const createTeamBody = z.object({ name, ...limits });
export const updateTeamBody = z.object({ name: name.optional(), ...limits });
export const teamAnswer = z.object({ team: teamRecord });
export const deletedTeamAnswer = z.object({ deleted: z.literal(true), id: z.string(), revokedKeys: z.array(z.string()) });
export const teamDetailAnswer = z.object({ team: teamDetailRecord });

/** `teamName` is accepted and ignored; the id decides. */
export const inviteMemberBody = z.object({
  teamId: id,
  teamName: plainText(100).optional(),
  email,
  role: teamRole.default("member"),
});
export const inviteMemberAnswer = z.object({
  member: teamMemberRecord,
  /** False if the address was a member or invited already. */
  created: z.boolean(),
  /** The invitation link with its single-use token, and when it expires. Null for a member of the organization. */
  inviteUrl: z.string().nullable(),
  expiresAt: z.date().nullable(),
});

const memberId = z.union([id, z.int().min(1)], "must be a member id").transform(String);
export const updateMemberBody = z.object({ teamId: id, memberId, role: teamRole });
export const updateMemberAnswer = z.object({ member: teamMemberRecord });

export const removeMemberBody = z.object({ teamId: id, memberId });
export const removeMemberAnswer = z.object({
  removed: z.literal(true),
  teamId: z.string(),
  memberId: z.union([z.bigint(), z.string()]),
  /** Ids of the keys that the member created in the team. They are blocked; to rotate a key unblocks it. */
  disabledKeys: z.array(z.string()),
});

export const listOrganizationsAnswer = listOf(organizationRecord);
export const updateOrganizationBody = z.object({
  id: id.optional(),
  name: name.optional(),
  timezone: timeZone.optional(),
  lowBalanceThreshold: nanoAmount.nullish(),
  ...contentFields,
  semanticCache: semanticCacheField,
  ...budgetFields,
  /** True makes it the active organization of the session. */
  active: z.boolean().optional(),
});
/** Platform admins only. */
export const organizationLimitsBody = z.object({ name: name.optional(), ...rateLimitFields, ...budgetFields });
export const organizationAnswer = z.object({ organization: organizationRecord });
