import { budgetPeriod, burnDown } from "./burn-down.ts";

const now = Date.parse("2026-11-11T00:00:00Z");
const monthly = { budgetPeriod: "monthly", budgetResetsAt: "2026-12-01T00:00:00Z", createdAt: "2026-01-05T10:00:00Z" };

test("the period of a budget ends when it resets and begins one period before", () => {
  const month = budgetPeriod(monthly, now);
  expect([new Date(month.startMs).toISOString(), month.buckets.length, month.interval]).toEqual(["2026-11-01T00:00:00.000Z", 30, "day"]);
  const day = budgetPeriod({ ...monthly, budgetPeriod: "daily", budgetResetsAt: "2026-11-12T00:00:00Z" }, now);
  expect([day.buckets.length, day.interval, day.buckets[0]?.label]).toEqual([24, "hour", "00:00"]);
});

test("a budget that never resets shows at most 30 days, and none before its record was created", () => {
  const ever = { ...monthly, budgetPeriod: null, budgetResetsAt: null };
  expect(budgetPeriod(ever, now).buckets).toHaveLength(30);
  const young = budgetPeriod({ ...ever, createdAt: "2026-11-10T23:00:00Z" }, now);
  expect([young.buckets.map(({ key }) => key), young.endMs]).toEqual([["2026-11-10", "2026-11-11"], undefined]);
});

test("at the same rate a budget of 20 with 10 spent in 10 days is used up after 10 more, before it resets", () => {
  const spendOf = new Map([["2026-11-03", 10]]);
  const { points, runsOutAt, leftUsd, leftAtEndUsd } = burnDown({
    period: budgetPeriod(monthly, now),
    budgetUsd: 20,
    spentUsd: 10,
    spendOf,
    now,
  });
  expect([leftUsd, leftAtEndUsd, new Date(runsOutAt ?? 0).toISOString()]).toEqual([10, 0, "2026-11-21T00:00:00.000Z"]);
  expect(points[0]).toEqual({ label: "1 Nov", left: 20 });
  expect(points[9]).toEqual({ label: "10 Nov", left: 10 });
  expect(points[10]).toEqual({ label: "11 Nov", left: 10, projected: 10 });
  expect(points.at(-1)).toEqual({ label: "30 Nov", projected: 0 });
});

test("a budget that lasts until the reset says what is left then, and spend of before the shown days counts", () => {
  const period = budgetPeriod(monthly, now);
  const slow = burnDown({ period, budgetUsd: 40, spentUsd: 10, spendOf: new Map([["2026-11-03", 10]]), now });
  expect([slow.runsOutAt, slow.leftAtEndUsd]).toEqual([undefined, 10]);
  const ever = budgetPeriod({ ...monthly, budgetPeriod: null, budgetResetsAt: null }, now);
  const old = burnDown({ period: ever, budgetUsd: 40, spentUsd: 30, spendOf: new Map(), now });
  expect([old.points[0]?.left, old.runsOutAt, old.leftAtEndUsd]).toEqual([10, undefined, undefined]);
});
