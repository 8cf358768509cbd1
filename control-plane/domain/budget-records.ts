/** The most that a key, team, user, organization or model may spend; without `maxBudget` there is no budget. */
export interface Budget {
  maxBudget?: bigint;
  /** Absent: the budget never resets. */
  budgetPeriod?: BudgetPeriod;
}

/** After which time a budget resets; periods begin in UTC. */
export type BudgetPeriod = "daily" | "weekly" | "monthly";

/** What a budget can be set on. */
export type BudgetKind = "key" | "team" | "user" | "organization" | "model";

/** What was spent of a budget in its period. A record exists exactly for each budget, so a settlement finds them all in one read. */
export interface BudgetUse {
  /** `kind:id` */
  id: string;
  /** Of a key or team; absent in records of older releases. Users and models have calls of several organizations. */
  organizationId?: string;
  period?: BudgetPeriod;
  /** Start of the period that `spend` belongs to. */
  startsAt: number;
  spend: bigint;
}
