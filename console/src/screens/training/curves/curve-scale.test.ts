import { roundTicks, valueAxis } from "./curve-scale.ts";

test.each([
  [
    [0.94, 0.96],
    [0.94, 0.945, 0.95, 0.955, 0.96],
  ],
  [
    [0.1, 0.95],
    [0, 0.5, 1],
  ],
  [
    [2.31, 0.4, 1.1],
    [0, 0.5, 1, 1.5, 2, 2.5],
  ],
  [
    [-3, 5],
    [-4, -2, 0, 2, 4, 6],
  ],
  [[0.5], [0.46, 0.48, 0.5, 0.52, 0.54]],
  [
    [0, 0],
    [-0.5, 0, 0.5],
  ],
])("the axis of %j is fitted to the values and has even ticks", (values, ticks) => {
  expect(valueAxis(values).ticks).toEqual(ticks);
});

test("no value lies outside of its axis, at any size", () => {
  for (let exponent = -8; exponent < 12; exponent++) {
    for (const [least, most] of [
      [1, 1.0001],
      [-7, 3.3],
      [9.999, 10.001],
    ] as const) {
      const [from, to] = [least * 10 ** exponent, most * 10 ** exponent];
      const { low, high, ticks } = valueAxis([from, to]);
      const slack = (to - from) * 1e-6;
      expect(low).toBeLessThanOrEqual(from + slack);
      expect(high).toBeGreaterThanOrEqual(to - slack);
      expect(ticks.length).toBeLessThanOrEqual(8);
    }
  }
});

test.each([
  [1, 1, [1]],
  [1, 4, [1, 2, 3, 4]],
  [1, 30, [1, 5, 10, 15, 20, 25, 30]],
  [3, 250, [3, 50, 100, 150, 200, 250]],
])("rounds %i to %i have whole ticks", (first, last, ticks) => {
  expect(roundTicks(first, last)).toEqual(ticks);
});
