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

/** Blocks a team or an organization. */
export const blockBody = z.object({ reason: plainText(500).optional() });
