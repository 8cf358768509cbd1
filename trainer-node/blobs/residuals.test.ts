import { mkdtempSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../common/clock.ts";
import type { Tensor } from "../compute/tensor.ts";
import { openResiduals } from "./residuals.ts";

const folder = mkdtempSync(join(tmpdir(), "tributary-residuals-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const tensors = (value: number): Tensor[] => [{ name: "w", dtype: "f32", shape: [1], data: Float32Array.of(value) }];
const many: Tensor = { name: "w", dtype: "f32", shape: [0], data: new Float32Array(0) };
/** Makes every file a second older, so that those of one test have an order. */
const age = () => {
  for (const { name, parentPath } of readdirSync(join(folder, ".residuals"), { recursive: true, withFileTypes: true })) {
    const path = join(parentPath, name);
    const seconds = statSync(path).mtimeMs / 1000 - 1;
    utimesSync(path, seconds, seconds);
  }
};
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

test("a tenant's residuals have a limit in bytes: its oldest go first, and none of another tenant", () => {
  const limited = (tenant: string) => openResiduals(folder, tenant, { bytesMax: 5000 });
  const keep = (tenant: string, client: string, numbers: number) => {
    limited(tenant).keep(client, "f/1", { before: [], after: [{ ...many, shape: [numbers], data: new Float32Array(numbers) }] });
    age();
  };
  const kept = (tenant: string, clients: readonly string[]) => clients.filter((client) => limited(tenant).read(client, "f/2").length > 0);
  keep("org_small", "p1", 500);
  for (const client of ["p1", "p2", "p1", "p3"]) keep("org_large", client, 500);
  expect(kept("org_large", ["p1", "p2", "p3"])).toEqual(["p1", "p3"]);
  expect(kept("org_small", ["p1"])).toEqual(["p1"]);
  // What is too large alone costs no other client anything, and an older one of its client would be added twice.
  keep("org_large", "p3", 5000);
  expect(kept("org_large", ["p1", "p3"])).toEqual(["p1"]);
});

test("residuals that were not used for a week are removed, of every tenant and of releases that had them by client only", () => {
  const own = mkdtempSync(join(folder, "aged-"));
  openResiduals(own, "org_1").keep("f\0p1", "f/1", { before: [], after: tensors(1) });
  writeFileSync(join(own, ".residuals", "0".repeat(64)), "");
  const later = { now: () => systemClock.now() + 8 * 24 * 3_600_000 };
  openResiduals(own, "org_2", { clock: later }).keep("f\0p2", "f/1", { before: [], after: tensors(2) });
  expect(openResiduals(own, "org_1").read("f\0p1", "f/2")).toEqual([]);
  expect(numbers(openResiduals(own, "org_2").read("f\0p2", "f/2"))).toEqual([["w", 2]]);
  const files = readdirSync(own, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  expect(files.map(({ name }) => name).toSorted()).toEqual([".swept", expect.stringMatching(/^[0-9a-f]{64}$/)]);
});

test("without a folder there are none", () => {
  const residuals = openResiduals(undefined, "");
  residuals.keep("f\0p1", "f/1", { before: [], after: tensors(1) });
  expect(residuals.read("f\0p1", "f/2")).toEqual([]);
});
