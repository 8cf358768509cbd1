import { z } from "zod";
import { nanoAmount } from "../fields.ts";

/** The fields that set a budget, in nano-USD or as a decimal. Null removes the budget, or its period. */
export const budgetFields = {
  maxBudget: nanoAmount.nullish(),
  maxBudgetUsd: z.union([z.number(), z.string().max(32)], "must be a decimal number or string").nullish(),
  budgetPeriod: z.enum(["daily", "weekly", "monthly", "none"]).nullish(),
};
export type BudgetFields = z.output<z.ZodObject<typeof budgetFields>>;

/** A budget in a record, with its spend. Null means no budget; a null period means that it never resets. */
export const budgetRecord = {
  maxBudget: z.bigint().nullable(),
  maxBudgetUsd: z.string().nullable(),
  budgetPeriod: z.string().nullable(),
  budgetSpend: z.bigint().nullable(),
  budgetSpendUsd: z.string().nullable(),
  budgetResetsAt: z.date().nullable(),
};
export type BudgetRecord = z.output<z.ZodObject<typeof budgetRecord>>;
