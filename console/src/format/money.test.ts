import { formatNano, formatUsd, nanoNumber, nanoOf, readUsd, usdOf } from "./money.ts";

test.each([
  ["0.00", "$0.00"],
  ["5.00", "$5.00"],
  ["1234567.891", "$1,234,567.89"],
  ["4.999995", "$5.00"],
  ["-0.25", "−$0.25"],
  ["0.0123", "$0.0123"],
  ["0.000006", "$0.000006"],
  ["-0.000000001", "−$0.000000001"],
  ["0.000000999", "$0.000000999"],
])("%s USD is shown as %s: a cost is never rounded to nothing", (usd, shown) => {
  expect(formatUsd(usd)).toBe(shown);
});

test("amounts are exact to the last nano-USD, beyond what a double can hold", () => {
  expect(formatNano("90071992.547409931")).toBe("90,071,992,547,409,931 nano-USD");
  expect(nanoOf("-0.1")).toBe(-100_000_000n);
});

test("typed amounts are parsed exactly, and invalid ones are rejected", () => {
  expect(["12.50", " 3 ", "0.000000001"].map(readUsd)).toEqual(["12.50", "3", "0.000000001"]);
  expect(["", "0", "-1", "1,50", "1e3", "0.0000000001", "abc"].map(readUsd)).toEqual(Array.from({ length: 7 }));
  expect(nanoNumber("12.50")).toBe(12_500_000_000);
});

test("a limit goes from the API's nano-USD to the typed amount and back unchanged", () => {
  for (const nano of [1, 1_500_000_000, 25_000_000_000, 999_999_999]) expect(nanoNumber(usdOf(nano))).toBe(nano);
  expect(usdOf(1_500_000_000)).toBe("1.5");
});
