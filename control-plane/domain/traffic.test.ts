import fc from "fast-check";
import { mainVersion, withShare } from "./traffic.ts";

const sum = (traffic: readonly { percent: number }[]) => traffic.reduce((all, { percent }) => all + percent, 0);

test("whatever is split how often, every call has a version: shares are whole and sum to 100", () => {
  const steps = fc.array(fc.record({ version: fc.integer({ min: 1, max: 6 }), percent: fc.integer({ min: 0, max: 100 }) }));
  fc.assert(
    fc.property(steps, (splits) => {
      let traffic = [{ version: 1, percent: 100 }];
      for (const split of splits) {
        if (split.percent < 100 && traffic.every(({ version }) => version === split.version)) continue;
        traffic = withShare(traffic, split);
        expect(sum(traffic)).toBe(100);
        expect(traffic.every(({ percent }) => Number.isInteger(percent) && percent > 0)).toBe(true);
        expect(traffic.find(({ version }) => version === split.version)?.percent ?? 0).toBe(split.percent);
      }
    }),
  );
});

test("a canary takes its share from the others in the proportions they had", () => {
  const traffic = [
    { version: 1, percent: 75 },
    { version: 2, percent: 25 },
  ];
  expect(withShare(traffic, { version: 3, percent: 20 })).toEqual([
    { version: 1, percent: 60 },
    { version: 2, percent: 20 },
    { version: 3, percent: 20 },
  ]);
});

test("the only version that is served cannot be given less than all", () => {
  expect(() => withShare([{ version: 2, percent: 100 }], { version: 2, percent: 40 })).toThrow(/no other version is served/);
  expect(() => withShare([], { version: 1, percent: 99 })).toThrow(/no other version is served/);
});

test("the main version has most calls, of equals the newest", () => {
  const even = [
    { version: 1, percent: 50 },
    { version: 2, percent: 50 },
  ];
  expect(mainVersion(even)).toBe(2);
  expect(mainVersion([{ version: 1, percent: 51 }, ...even.slice(1)])).toBe(1);
});
