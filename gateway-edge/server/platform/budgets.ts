import { toUsdString } from "../../../common/money.ts";
import type { Budget, BudgetChange } from "../../../proto/gen/tributary/budgets/v1/budgets.ts";
import type { BudgetFields, BudgetRecord } from "../../schemas/platform/budgets.ts";

/** The change of a budget for the control plane; undefined if the body has no budget fields. */
export function budgetChange({ maxBudget, budgetPeriod }: BudgetFields): BudgetChange | undefined {
  if (maxBudget === undefined && budgetPeriod === undefined) return undefined;
  return {
    maxBudget: typeof maxBudget === "number" ? BigInt(maxBudget) : undefined,
    period: periodOf(budgetPeriod),
    clear: maxBudget === null,
  };
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
