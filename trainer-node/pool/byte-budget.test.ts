import { createByteBudget } from "./byte-budget.ts";

test("the bytes of all calls together never pass the budget, and what one gives back another may take", () => {
  const budget = createByteBudget(100);
  const first = budget.open();
  const second = budget.open();
  first.grow(60);
  second.grow(40);
  expect(() => second.grow(1)).toThrow(expect.objectContaining({ kind: "BUSY" }));
  expect(budget.heldBytes).toBe(100);
  first.release();
  first.release();
  expect(budget.heldBytes).toBe(40);
  second.grow(60);
  second.release();
  second.grow(5);
  expect(budget.heldBytes).toBe(0);
});
