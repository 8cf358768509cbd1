import { scalingTable } from "./scaling.ts";

const rounds = (edges: number, controlPlane: number) =>
  [1, 2, 3].map((noise) => ({ edges: edges * noise, controlPlane: controlPlane * noise }));

test("two edges that take as much for a call as one answer twice its calls", () => {
  const table = scalingTable(rounds(100, 10), rounds(100, 10));
  expect(table).toContain("answer 2.00 times the calls of one");
  expect(table).not.toContain("**no**");
});

test("edges that take more for a call than the goal allows fail it, and so does their control plane", () => {
  const table = scalingTable(rounds(100, 10), rounds(120, 30));
  expect(table).toContain("answer 1.67 times the calls of one");
  expect(table).toContain("| CPU of two edges for a call, over that of one | 1.2 × | 1.11 × | **no** |");
  expect(table).toContain("| CPU of the control plane over that of two edges | 0.25 × | 0.15 × | **no** |");
});
