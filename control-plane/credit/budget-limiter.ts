import type { Clock } from "../../common/clock.ts";
import { AppError } from "../../common/errors.ts";
import type { Logger } from "../../common/logger.ts";
import type { Budget, BudgetKind } from "../domain/budget-records.ts";
import { budgetName, periodEnd } from "../domain/budgets.ts";
import { HeldError } from "./ended-calls.ts";

/** One budget that applies to a call, and how much of it is spent. */
export interface BudgetState {
  readonly kind: BudgetKind;
  readonly id: string;
  readonly budget: Budget;
  readonly spend: bigint;
}

/** What the limiter works with. */
export interface BudgetOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** `shadow` logs what `enforce` refuses. */
  readonly mode: "enforce" | "shadow";
}

/** Budget held by running calls, in memory. No method awaits, so a check and its hold see the same state. */
export class BudgetLimiter {
  readonly #options: BudgetOptions;
  /** Held for every subject, with or without a budget, so that a budget set later applies at once. */
  readonly #held = new Map<string, bigint>();

  constructor(options: BudgetOptions) {
    this.#options = options;
  }

  /** The part of an amount that fits into every budget. Throws QUOTA_EXCEEDED for the first budget that is used up. */
  affordable(amount: bigint, states: readonly BudgetState[]): bigint {
    let affordable = amount;
    for (const { kind, id, budget, spend } of states) {
      if (budget.maxBudget === undefined) continue;
      const held = this.#held.get(budgetName(kind, id)) ?? 0n;
      const left = budget.maxBudget - spend - held;
      if (left >= affordable) continue;
      if (this.#options.mode === "shadow") {
        const facts = { kind, id, maxBudget: String(budget.maxBudget), spend: String(spend), held: String(held), wanted: String(amount) };
        this.#options.logger.warn(facts, "the call exceeds a budget; it was let through because BUDGET_MODE is shadow");
        continue;
      }
      if (left <= 0n) throw this.#refusal({ kind, id, budget }, held);
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

  #refusal({ kind, id, budget: { budgetPeriod } }: Pick<BudgetState, "kind" | "id" | "budget">, held: bigint): AppError {
    const again = periodEnd(budgetPeriod, this.#options.clock.now());
    const way = kind === "key" ? "Raise its maxBudget or use another key" : "Raise its maxBudget";
    const until = again === undefined ? "" : `, or wait until ${new Date(again).toISOString()}`;
    const which = budgetPeriod === undefined ? "budget" : `${budgetPeriod} budget`;
    const message = `The ${kind}'s ${which} is used up. ${way}${until}.`;
    if (held === 0n) return new AppError("QUOTA_EXCEEDED", message);
    return new HeldError("QUOTA_EXCEEDED", message, { holder: "calls", limit: budgetName(kind, id) });
  }
}
