import { defined } from "../../common/defined.ts";
import { AppError } from "../../common/errors.ts";
import type { Budget, BudgetKind, BudgetPeriod, BudgetUse } from "./budget-records.ts";

/** A requested change: absent fields stay, the period "none" removes the period, `clear` removes the whole budget. */
export interface BudgetChange {
  readonly maxBudget?: bigint | undefined;
  readonly period?: string | undefined;
  readonly clear: boolean;
}

const DAY_MS = 24 * 3_600_000;
const WEEK_MS = 7 * DAY_MS;
/** 1970 began on a Thursday. */
const FIRST_MONDAY_MS = 4 * DAY_MS;

export const budgetName = (kind: BudgetKind, id: string | number): string => `${kind}:${id}`;

/** A record with its budget changed; without a change, the record as it is. A period needs an amount. */
export function withBudget<Limited extends Budget>(record: Limited, change: BudgetChange | undefined): Limited {
  if (!change) return record;
  const { maxBudget: before, budgetPeriod: periodBefore, ...rest } = record;
  const maxBudget = change.clear ? undefined : (change.maxBudget ?? before);
  const period = change.period === undefined ? periodBefore : periodOf(change.period);
  if (maxBudget === undefined) {
    if (change.period !== undefined && period !== undefined && !change.clear) throw periodAlone();
    return rest as unknown as Limited;
  }
  return { ...rest, maxBudget, ...(period === undefined ? {} : { budgetPeriod: period }) } as unknown as Limited;
}

/** The budget of a record by itself. */
export function budgetOf({ maxBudget, budgetPeriod }: Budget): Budget {
  return defined({ maxBudget, budgetPeriod });
}

function periodAlone(): AppError {
  const message = "needs a maxBudget";
  return new AppError("VALIDATION_ERROR", `The budget's period ${message}.`, { details: [{ path: "body.budgetPeriod", message }] });
}

function periodOf(name: string): BudgetPeriod | undefined {
  return name === "daily" || name === "weekly" || name === "monthly" ? name : undefined;
}

/** Start of the period that contains a moment, in UTC; 0 without a period. */
export function periodStart(period: BudgetPeriod | undefined, moment: number): number {
  switch (period) {
    case "daily":
      return Math.floor(moment / DAY_MS) * DAY_MS;
    case "weekly":
      return Math.floor((moment - FIRST_MONDAY_MS) / WEEK_MS) * WEEK_MS + FIRST_MONDAY_MS;
    case "monthly":
      return monthStart(moment, 0);
    case undefined:
      return 0;
  }
}

/** When the budget resets; undefined: never. */
export function periodEnd(period: BudgetPeriod | undefined, moment: number): number | undefined {
  switch (period) {
    case "daily":
      return periodStart(period, moment) + DAY_MS;
    case "weekly":
      return periodStart(period, moment) + WEEK_MS;
    case "monthly":
      return monthStart(moment, 1);
    case undefined:
      return undefined;
  }
}

/** What counts at this moment: spend of an earlier period does not. */
export function spentOf(use: BudgetUse | undefined, moment: number): bigint {
  return use && use.startsAt >= periodStart(use.period, moment) ? use.spend : 0n;
}

/** The use after a call at that moment. The first call of a new period starts it; a late call of an earlier period does not count. */
export function addSpend(use: BudgetUse, cost: bigint, moment: number): BudgetUse {
  const startsAt = periodStart(use.period, moment);
  if (startsAt < use.startsAt) return use;
  return startsAt > use.startsAt ? { ...use, startsAt, spend: cost } : { ...use, spend: use.spend + cost };
}

function monthStart(moment: number, monthsLater: number): number {
  const date = new Date(moment);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + monthsLater, 1);
}
