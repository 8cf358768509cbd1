import { AppError } from "../../../common/errors.ts";
import { fromUsd, toUsdString } from "../../../common/money.ts";
import type { Budget, BudgetChange } from "../../../proto/gen/tributary/budgets/v1/budgets.ts";
import type { BudgetFields, BudgetRecord } from "../../schemas/platform/budgets.ts";

/** The change of a budget for the control plane; undefined if the body has no budget fields. */
export function budgetChange(body: BudgetFields): BudgetChange | undefined {
  const maxBudget = maxBudgetOf(body);
  if (maxBudget === undefined && body.budgetPeriod === undefined) return undefined;
  return { maxBudget: maxBudget ?? undefined, period: periodOf(body.budgetPeriod), clear: maxBudget === null };
}

/**
 * The budget of a body, in nano-USD. Records have it in both units, so a record that is sent back may have both; two different amounts are
 * refused, because one of them would be ignored.
 */
export function maxBudgetOf({ maxBudget, maxBudgetUsd }: BudgetFields): bigint | null | undefined {
  const nano = typeof maxBudget === "number" ? BigInt(maxBudget) : maxBudget;
  if (maxBudgetUsd === undefined) return nano;
  const amount = maxBudgetUsd === null ? null : fromUsd(maxBudgetUsd);
  if (amount === undefined) throw refused("must be a decimal amount, with at most ten digits before the point and nine after it");
  if (amount !== null && amount < 0n) throw refused("must not be negative");
  if (amount !== null && amount > BigInt(Number.MAX_SAFE_INTEGER)) throw refused("is too large");
  if (nano !== undefined && nano !== amount) throw refused("is not the amount of maxBudget; give one of them");
  return amount;
}

function refused(message: string): AppError {
  const details = [{ path: "body.maxBudgetUsd", message }];
  return new AppError("VALIDATION_ERROR", `The request is not valid: body.maxBudgetUsd: ${message}`, { details });
}

export function periodOf(given: BudgetFields["budgetPeriod"]): string | undefined {
  return given === null ? "none" : given;
}

export function presentBudget(budget: Budget | undefined): BudgetRecord {
  return {
    maxBudget: budget?.maxBudget ?? null,
    maxBudgetUsd: budget ? toUsdString(budget.maxBudget) : null,
    budgetPeriod: budget?.period ?? null,
    budgetSpend: budget?.spend ?? null,
    budgetSpendUsd: budget ? toUsdString(budget.spend) : null,
    budgetResetsAt: budget?.resetsAt ?? null,
  };
}
