/** What a key, team, user, organisation or model may spend at most; absent = no budget. */
export interface Budget {
  maxBudget?: bigint;
  /** Absent: it never starts again. */
  budgetPeriod?: BudgetPeriod;
}

export type BudgetPeriod = "daily" | "weekly" | "monthly";

export type BudgetKind = "key" | "team" | "user" | "organization" | "model";

/** What was spent of a budget in its period. There is one for every budget, and none without: so a settlement finds them by one read. */
export interface BudgetUse {
  /** `kind:id` */
  id: string;
  period?: BudgetPeriod;
  /** Of the period that `spend` is of. */
  startsAt: number;
  spend: bigint;
}
