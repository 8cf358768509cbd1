import { z } from "zod";
import { name, plainText } from "../fields.ts";
import { listOf, userRecord } from "../records.ts";
import { budgetFields } from "./budgets.ts";
import { rateLimitFields } from "./rate-limits.ts";

export const listUsersAnswer = listOf(userRecord);
export const userAnswer = z.object({ user: userRecord });
export const updateUserBody = z
  .object({ name: name.optional(), role: z.enum(["user", "admin"]).optional(), ...rateLimitFields, ...budgetFields })
  .refine((body) => Object.values(body).some((value) => value !== undefined), { message: "must have a name, a role, a limit or a budget" });
export const deletedUserAnswer = z.object({ deleted: z.literal(true), id: z.bigint() });

/** `sessions` ended, and `keys` are refused from now on or work again. */
export const userAccessAnswer = userAnswer.extend({ sessions: z.int(), keys: z.int() });
/** `resetUrl` is null if it was mailed to the user. */
export const passwordResetAnswer = z.object({ resetUrl: z.string().nullable(), mailed: z.boolean(), expiresAt: z.date() });

/** Blocks a team or an organization, or disables a user. */
export const blockBody = z.object({ reason: plainText(500).optional() });
