import { type OverloadRow, overloadGoals } from "./overload-goals.ts";

const samples = [300, 400, 410, 420].map((rssMb) => ({ unsettled: rssMb * 10, rssMb }));
const row = (name: string, answered: number, more: Partial<OverloadRow> = {}): OverloadRow => ({
  name,
  isHasty: false,
  report: { answered, refused: 500, broken: 0, refusedMs: { p50: 4, p99: 19 }, connectingMs: { p50: 20, p99: 900 } },
  samples,
  ...more,
});

test("goodput is compared with the first row, and memory with that of half-time", () => {
  const goals = overloadGoals([row("64", 60_000), row("320", 57_000)], 10);
  expect(goals.map(({ value, most }) => [Math.round(value * 100) / 100, value <= most])).toEqual([
    [5, true],
    [19, true],
    [900, true],
    [0, true],
    [4200, true],
    [1.02, true],
  ]);
});

test("lost goodput, clients that wait to connect, broken calls, settlements that fall behind and memory that grows miss their goals", () => {
  const [, middle] = samples;
  const late = [...samples, { unsettled: 30_000, rssMb: (middle?.rssMb ?? 0) * 2 }];
  const broken = { answered: 30_000, refused: 1, broken: 3, refusedMs: { p50: 4, p99: 21 }, connectingMs: { p50: 20, p99: 9000 } };
  const goals = overloadGoals([row("64", 60_000), row("320", 0, { report: broken, samples: late })], 10);
  expect(goals.every(({ value, most }) => value > most)).toBe(true);
});

test("callers that do not wait after a refusal have no goal for its time", () => {
  const goals = overloadGoals([row("64", 60_000), row("320, hasty", 60_000, { isHasty: true })], 10);
  expect(goals.some(({ what }) => what.includes("refusals"))).toBe(false);
});
