import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Tensor } from "../compute/tensor.ts";
import { openResiduals } from "./residuals.ts";

const folder = mkdtempSync(join(tmpdir(), "tributary-residuals-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const tensors = (value: number): Tensor[] => [{ name: "w", dtype: "f32", shape: [1], data: Float32Array.of(value) }];
const numbers = (found: readonly Tensor[]) => found.map(({ name, data }) => [name, data[0]]);

test("a round that is asked again gets the residual of before it, the next round that of after it; tenants and clients have their own", () => {
  const residuals = openResiduals(folder, "org_1");
  expect(residuals.read("f\0p1", "f/1")).toEqual([]);
  residuals.keep("f\0p1", "f/1", { before: [], after: tensors(1) });
  expect(residuals.read("f\0p1", "f/1")).toEqual([]);
  expect(numbers(residuals.read("f\0p1", "f/2"))).toEqual([["w", 1]]);
  residuals.keep("f\0p1", "f/2", { before: tensors(1), after: tensors(2) });
  expect(numbers(residuals.read("f\0p1", "f/2"))).toEqual([["w", 1]]);
  expect(numbers(openResiduals(folder, "org_1").read("f\0p1", "f/3"))).toEqual([["w", 2]]);
  expect([residuals.read("f\0p2", "f/2"), openResiduals(folder, "org_2").read("f\0p1", "f/3")]).toEqual([[], []]);
  expect(readdirSync(folder)).toEqual([".residuals"]);
});

test("without a folder there are none", () => {
  const residuals = openResiduals(undefined, "");
  residuals.keep("f\0p1", "f/1", { before: [], after: tensors(1) });
  expect(residuals.read("f\0p1", "f/2")).toEqual([]);
});
