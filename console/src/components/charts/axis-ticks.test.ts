import { axisTicks, axisUsd, rangeTicks } from "./axis-ticks.ts";

test.each([
  [0.14, [0, 0.05, 0.1, 0.15], ["$0.00", "$0.05", "$0.10", "$0.15"]],
  [0.0007, [0, 0.0002, 0.0004, 0.0006, 0.0008], ["$0.0000", "$0.0002", "$0.0004", "$0.0006", "$0.0008"]],
  [40, [0, 10, 20, 30, 40], ["$0.00", "$10.00", "$20.00", "$30.00", "$40.00"]],
  [0, [0], ["$0.00"]],
])("the axis up to %f has even ticks, and their labels are exact", (max, ticks, labels) => {
  expect(axisTicks(max, false)).toEqual(ticks);
  expect(ticks.map((tick) => axisUsd(tick, ticks))).toEqual(labels);
});

test("counts have whole ticks, and the last tick is never below the largest value", () => {
  expect(axisTicks(2, true)).toEqual([0, 1, 2]);
  for (let exponent = -8; exponent < 12; exponent++) {
    for (const factor of [1, 1.1, 2.5, 3.99, 7, 9.999]) {
      const max = factor * 10 ** exponent;
      const ticks = axisTicks(max, false);
      expect(ticks.at(-1)).toBeGreaterThanOrEqual(max * (1 - 1e-9));
      expect(ticks.length).toBeLessThanOrEqual(6);
    }
  }
});

test.each([
  [0.94, 0.96, [0.94, 0.945, 0.95, 0.955, 0.96]],
  [0.931, 0.967, [0.93, 0.94, 0.95, 0.96, 0.97]],
  [3, 3, [3, 4]],
  [-1.2, 0.4, [-1.5, -1, -0.5, 0, 0.5]],
])("the axis of a curve from %f to %f contains both and shows the change between them", (min, max, ticks) => {
  expect(rangeTicks(min, max)).toEqual(ticks);
});
