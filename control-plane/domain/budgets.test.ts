import fc from "fast-check";
import type { BudgetPeriod, BudgetUse } from "./budget-records.ts";
import { addSpend, periodEnd, periodStart, spentOf, withBudget } from "./budgets.ts";

const iso = (moment: number | undefined) => (moment === undefined ? undefined : new Date(moment).toISOString());
const at = (text: string) => Date.parse(text);
const periods = ["daily", "weekly", "monthly"] as const;

test.each<[BudgetPeriod | undefined, string, string, string | undefined]>([
  ["daily", "2026-03-31T23:59:59.999Z", "2026-03-31T00:00:00.000Z", "2026-04-01T00:00:00.000Z"],
  ["weekly", "2026-03-01T12:00:00.000Z", "2026-02-23T00:00:00.000Z", "2026-03-02T00:00:00.000Z"],
  ["weekly", "2026-03-02T00:00:00.000Z", "2026-03-02T00:00:00.000Z", "2026-03-09T00:00:00.000Z"],
  ["monthly", "2024-02-29T05:00:00.000Z", "2024-02-01T00:00:00.000Z", "2024-03-01T00:00:00.000Z"],
  ["monthly", "2026-12-31T23:59:59.999Z", "2026-12-01T00:00:00.000Z", "2027-01-01T00:00:00.000Z"],
  [undefined, "2026-12-31T23:59:59.999Z", "1970-01-01T00:00:00.000Z", undefined],
])("%s: %s lies between %s and %s", (period, moment, start, end) => {
  expect(iso(periodStart(period, at(moment)))).toBe(start);
  expect(iso(periodEnd(period, at(moment)))).toBe(end);
});

test("periods follow each other without a gap, and every moment is in its own", () => {
  const moment = fc.integer({ min: 1, max: at("2100-01-01T00:00:00Z") });
  fc.assert(
    fc.property(fc.constantFrom(...periods), moment, (period, now) => {
      const [start, end] = [periodStart(period, now), periodEnd(period, now) ?? 0];
      expect(start <= now && now < end).toBe(true);
      expect(periodStart(period, end)).toBe(end);
      expect(periodStart(period, end - 1)).toBe(start);
    }),
  );
});

test("what counts is what was spent in the period of the moment, in whatever order calls are settled", () => {
  const day = 24 * 3_600_000;
  const calls = fc.array(fc.record({ moment: fc.integer({ min: 0, max: 3 * day - 1 }), cost: fc.bigInt({ min: 1n, max: 100n }) }));
  fc.assert(
    fc.property(calls, (given) => {
      const empty: BudgetUse = { id: "team:1", period: "daily", startsAt: 0, spend: 0n };
      const use = given.reduce((sum, { cost, moment }) => addSpend(sum, cost, moment), empty);
      const last = Math.max(0, ...given.map(({ moment }) => periodStart("daily", moment)));
      // Rows of a period that was over when they came are no more counted; those of the last one all are.
      const newest = given.filter(({ moment }) => periodStart("daily", moment) === last);
      expect(spentOf(use, last)).toBe(newest.reduce((sum, { cost }) => sum + cost, 0n));
      expect(spentOf(use, last + day)).toBe(0n);
    }),
  );
});

test("a budget is set, changed and taken away; a period alone is refused", () => {
  const none: { maxBudget?: bigint; budgetPeriod?: BudgetPeriod } = {};
  const daily = withBudget(none, { maxBudget: 5n, period: "daily", clear: false });
  expect(daily).toEqual({ maxBudget: 5n, budgetPeriod: "daily" });
  expect(withBudget(daily, { maxBudget: 7n, clear: false })).toEqual({ maxBudget: 7n, budgetPeriod: "daily" });
  expect(withBudget(daily, { period: "none", clear: false })).toEqual({ maxBudget: 5n });
  expect(withBudget(daily, { clear: true })).toEqual({});
  expect(withBudget(daily, undefined)).toBe(daily);
  expect(() => withBudget(none, { period: "weekly", clear: false })).toThrow(expect.objectContaining({ code: "VALIDATION_ERROR" }));
});
