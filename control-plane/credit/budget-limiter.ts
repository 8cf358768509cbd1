import type { Clock } from "../../common/clock.ts";
import { AppError } from "../../common/errors.ts";
import type { Logger } from "../../common/logger.ts";
import type { Budget, BudgetKind } from "../domain/budget-records.ts";
import { budgetName, periodEnd } from "../domain/budgets.ts";

/** Whose budget a call is under, and what is spent of it. */
export interface BudgetState {
  readonly kind: BudgetKind;
  readonly id: string;
  readonly budget: Budget;
  readonly spend: bigint;
}

export interface BudgetOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Shadow: what would be refused is logged, and let through. */
  readonly mode: "enforce" | "shadow";
}

/** What running calls have set aside of the budgets of their subjects, in memory. Nothing here waits: what is checked is what is taken. */
export class BudgetLimiter {
  readonly #options: BudgetOptions;
  /** Of everybody: a budget that is set later holds at once. */
  readonly #held = new Map<string, bigint>();

  constructor(options: BudgetOptions) {
    this.#options = options;
  }

  /** What of an amount fits into every budget; throws QUOTA_EXCEEDED for the first that is used up. */
  affordable(amount: bigint, states: readonly BudgetState[]): bigint {
    let affordable = amount;
    for (const { kind, id, budget, spend } of states) {
      if (budget.maxBudget === undefined) continue;
      const held = this.#held.get(budgetName(kind, id)) ?? 0n;
      const left = budget.maxBudget - spend - held;
      if (left >= affordable) continue;
      if (this.#options.mode === "shadow") {
        const facts = { kind, id, maxBudget: String(budget.maxBudget), spend: String(spend), held: String(held), wanted: String(amount) };
        this.#options.logger.warn(facts, "a budget would hold this call back; budgets are in shadow mode");
        continue;
      }
      if (left <= 0n) throw this.#refusal(kind, budget);
      affordable = left;
    }
    return affordable;
  }

  begin(names: readonly string[], amount: bigint): void {
    for (const name of names) this.#held.set(name, (this.#held.get(name) ?? 0n) + amount);
  }

  end(names: readonly string[], amount: bigint): void {
    for (const name of names) {
      const held = (this.#held.get(name) ?? 0n) - amount;
      if (held > 0n) this.#held.set(name, held);
      else this.#held.delete(name);
    }
  }

  #refusal(kind: BudgetKind, { budgetPeriod }: Budget): AppError {
    const again = periodEnd(budgetPeriod, this.#options.clock.now());
    const way = kind === "key" ? "Raise its maxBudget or use another key" : "Raise its maxBudget";
    const until = again === undefined ? "" : `, or wait until ${new Date(again).toISOString()}`;
    const which = budgetPeriod === undefined ? "budget" : `${budgetPeriod} budget`;
    return new AppError("QUOTA_EXCEEDED", `The ${kind}'s ${which} is used up. ${way}${until}.`);
  }
}
