import { slotOf } from "./slots.ts";

test("the slot of an organization never changes: stored data depends on it", () => {
  expect([slotOf("org_1", 256), slotOf("org_2", 256), slotOf("organization", 256)]).toEqual([146, 40, 124]);
  expect(slotOf("org_1", 1)).toBe(0);
});

test("organizations spread evenly over the slots", () => {
  const counts = new Array<number>(256).fill(0);
  for (let index = 0; index < 25_600; index++) {
    const slot = slotOf(`org_${index.toString(36)}`, 256);
    counts[slot] = (counts[slot] ?? 0) + 1;
  }
  expect(Math.min(...counts)).toBeGreaterThan(50);
  expect(Math.max(...counts)).toBeLessThan(150);
});
