import { bucketKey, bucketLabel } from "../time-range.ts";
import type { UsageWindow } from "../usage-window.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const SHOWN_DAYS = 30;

/** The period of a budget and the bars of its chart, in UTC as the budget is. */
export interface BudgetPeriod extends Pick<UsageWindow, "interval" | "buckets"> {
  readonly startMs: number;
  /** Undefined for a budget that never resets. */
  readonly endMs: number | undefined;
  readonly stepMs: number;
}

interface PeriodInput {
  readonly budgetPeriod: string | null;
  readonly budgetResetsAt: string | null;
  readonly createdAt: string;
}

/** The current period; of a budget that never resets the last days, at most since its record was created. */
export function budgetPeriod({ budgetPeriod: name, budgetResetsAt, createdAt }: PeriodInput, now: number): BudgetPeriod {
  const endMs = budgetResetsAt === null ? undefined : Date.parse(budgetResetsAt);
  const startMs =
    endMs === undefined ? Math.max(dayStart(Date.parse(createdAt)), dayStart(now) - (SHOWN_DAYS - 1) * DAY_MS) : periodStart(name, endMs);
  const interval = name === "daily" ? "hour" : "day";
  const stepMs = interval === "hour" ? HOUR_MS : DAY_MS;
  const buckets = Array.from({ length: Math.ceil(((endMs ?? dayStart(now) + DAY_MS) - startMs) / stepMs) }, (_, index) => {
    const at = startMs + index * stepMs;
    return { key: bucketKey(interval, at, "UTC"), label: bucketLabel(interval, at, "UTC") };
  });
  return { startMs, endMs, stepMs, interval, buckets };
}

function periodStart(name: string | null, endMs: number): number {
  if (name === "monthly") {
    const end = new Date(endMs);
    return Date.UTC(end.getUTCFullYear(), end.getUTCMonth() - 1, 1);
  }
  return endMs - (name === "weekly" ? 7 * DAY_MS : DAY_MS);
}

const dayStart = (at: number): number => Math.floor(at / DAY_MS) * DAY_MS;

export interface BurnDown {
  /** What is left of the budget at the end of each bucket, and what will be if spending goes on as in the period so far. */
  readonly points: readonly ({ label: string } & Record<string, string | number>)[];
  readonly leftUsd: number;
  /** When the budget is used up at this rate; undefined if it lasts until the reset or nothing is spent. */
  readonly runsOutAt: number | undefined;
  /** What is left at the reset, at this rate. */
  readonly leftAtEndUsd: number | undefined;
}

interface BurnDownInput {
  readonly period: BudgetPeriod;
  readonly budgetUsd: number;
  readonly spentUsd: number;
  /** Spend by the key of its bucket. */
  readonly spendOf: ReadonlyMap<string, number>;
  readonly now: number;
}

export function burnDown({ period, budgetUsd, spentUsd, spendOf, now }: BurnDownInput): BurnDown {
  const { startMs, endMs, stepMs, buckets } = period;
  const inPeriod = [...spendOf.values()].reduce((sum, usd) => sum + usd, 0);
  const leftUsd = Math.max(0, budgetUsd - spentUsd);
  // A rate of the first minutes would say little.
  const usdPerMs = inPeriod / Math.max(HOUR_MS, now - startMs);
  const leftAt = (at: number) => Math.max(0, leftUsd - usdPerMs * (at - now));
  // The curve ends at the spend that the budget counts, which may have begun before the shown days.
  let spent = Math.max(0, spentUsd - inPeriod);
  const current = Math.floor((now - startMs) / stepMs);
  const points = buckets.map(({ key, label }, index) => {
    spent += spendOf.get(key) ?? 0;
    const point: { label: string } & Record<string, string | number> = { label };
    if (index < current) point.left = Math.max(0, budgetUsd - spent);
    if (index === current) Object.assign(point, { left: leftUsd, projected: leftUsd });
    if (index > current) point.projected = leftAt(startMs + (index + 1) * stepMs);
    return point;
  });
  const emptyAt = usdPerMs > 0 && leftUsd > 0 ? now + leftUsd / usdPerMs : undefined;
  return {
    points,
    leftUsd,
    runsOutAt: emptyAt !== undefined && (endMs === undefined || emptyAt < endMs) ? emptyAt : undefined,
    leftAtEndUsd: endMs === undefined ? undefined : leftAt(endMs),
  };
}
