import { goalTable, ratioByRound } from "./verdict.ts";

test("the ratio to the plain cost is the median of the rounds, so that one disturbed round does not count", () => {
  expect(ratioByRound([0.1, 0.2, 0.1], [0.105, 0.21, 0.4])).toBeCloseTo(1.05);
  expect(() => ratioByRound([0.1], [])).toThrow("each round");
});

test("a row says whether its goal is met; a figure that could not be measured is not", () => {
  const row = { what: "ledger", unit: "ms", most: 50 };
  expect(
    goalTable([{ ...row, value: 50 }])
      .split("\n")
      .at(-1),
  ).toBe("| ledger | 50 ms | 50 ms | yes |");
  expect(
    goalTable([{ ...row, value: 50.123 }])
      .split("\n")
      .at(-1),
  ).toBe("| ledger | 50.12 ms | 50 ms | **no** |");
  expect(goalTable([{ ...row, value: Number.NaN }])).toContain("**no**");
  expect(goalTable([{ ...row, value: 100.4, most: 2.5 }])).toContain("| 100 ms | 2.5 ms | **no** |");
});
