import { systemRandom } from "./random.ts";

test("no two pieces are alike, whatever their sizes, and none is left blank", () => {
  const seen = new Set<string>();
  for (let round = 0; round < 5000; round++) {
    const bytes = systemRandom.bytes(15 + (round % 20));
    expect(bytes.length).toBe(15 + (round % 20));
    expect(bytes.every((byte) => byte === 0)).toBe(false);
    seen.add(bytes.subarray(0, 15).toString("hex"));
  }
  expect(seen.size).toBe(5000);
  expect(systemRandom.bytes(100_000).length).toBe(100_000);
});
