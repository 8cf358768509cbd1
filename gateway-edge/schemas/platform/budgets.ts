import { z } from "zod";
import { nanoAmount } from "../fields.ts";

/** What may be set of a budget. Null takes the budget away, or its period. */
export const budgetFields = {
  maxBudget: nanoAmount.nullish(),
  budgetPeriod: z.enum(["daily", "weekly", "monthly", "none"]).nullish(),
};
export type BudgetFields = z.output<z.ZodObject<typeof budgetFields>>;

/** The same in a record, with what is spent of it; null: there is no budget, or it never starts again. */
export const budgetRecord = {
  maxBudget: z.bigint().nullable(),
  maxBudgetUsd: z.string().nullable(),
  budgetPeriod: z.string().nullable(),
  budgetSpend: z.bigint().nullable(),
  budgetSpendUsd: z.string().nullable(),
  budgetResetsAt: z.date().nullable(),
};
export type BudgetRecord = z.output<z.ZodObject<typeof budgetRecord>>;
