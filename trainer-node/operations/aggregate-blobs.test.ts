import { hash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { blobReader } from "../blobs/blob-reader.ts";
import { decodeParameters, encodeParameters, type Format } from "../codec/parameters.ts";
import { AGGREGATORS } from "../compute/aggregators/gen/aggregators.ts";
import { createResultArrays } from "../compute/clients/result-arrays.ts";
import { createKernelMemory } from "../compute/kernels/kernel-memory.ts";
import { createRandom } from "../compute/random.ts";
import type { Tensor } from "../compute/tensor.ts";
import { createClientRecords } from "../records/client-records.ts";
import { aggregateBlobs, type BlobAggregation } from "./aggregate-blobs.ts";
import { aggregateWholeBlobs } from "./aggregate-whole-blobs.ts";
import { createClientIntake } from "./client-intake.ts";

const CLIENTS = 5;
/** So little that every tensor but the smallest is made in several pieces. */
const WINDOW_BYTES = CLIENTS * 4000;

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "tributary-blobs-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function keep(bytes: Uint8Array): string {
  const name = hash("sha256", bytes, "hex");
  writeFileSync(join(folder, name), bytes);
  return name;
}

function modelOf(seed: number, first?: number): Tensor[] {
  const random = createRandom(seed, 1);
  const floats = (length: number) => Float32Array.from({ length }, () => random.normal());
  const wide = Float64Array.from({ length: 600 }, () => random.normal());
  const w = floats(5 * 501);
  if (first !== undefined) w[0] = first;
  return [
    { name: "w", dtype: "f32", shape: [5, 501], data: w },
    { name: "bias", dtype: "f32", shape: [3], data: floats(3) },
    { name: "wide", dtype: "f64", shape: [600], data: wide },
    { name: "steps", dtype: "i64", shape: [2], data: BigInt64Array.of(BigInt(seed), 7n) },
  ];
}

const updatesOf = (format: Format = "safetensors") =>
  Array.from({ length: CLIENTS }, (_, index) => ({
    hash: keep(encodeParameters(modelOf(index + 10), format)),
    weight: index + 1,
    id: `p${index + 1}`,
  }));

function whole(request: BlobAggregation) {
  const records = createClientRecords({ folder, memoryBytes: 1e9 });
  try {
    const context = { folder, records, intake: createClientIntake(records), readBlob: blobReader(folder, ""), monotonicMs: () => 0 };
    return aggregateWholeBlobs(request, context);
  } finally {
    records.close();
  }
}

const inWindows = (request: BlobAggregation) =>
  aggregateBlobs(request, { folder, memory: createKernelMemory(), results: createResultArrays(0), windowBytes: WINDOW_BYTES });

const columnwise = AGGREGATORS.filter((aggregator) => aggregator.columnwise).map(({ name }) => name);
const listOf = (name: string) =>
  name === "fednova" ? { steps: [1, 2, 3, 4, 5] } : name === "fedasync" ? { staleness: [0, 1, 0, 3, 2] } : {};

test.each(columnwise)("%s in windows gives the bytes of /aggregate, for any order of the updates, and so does its second round", (name) => {
  const updates = updatesOf();
  const base = keep(encodeParameters(modelOf(1), "safetensors"));
  const request = { updates, strategy: { name, ...listOf(name) }, base, state: "", keep: true };
  const [made, expected] = [inWindows(request), whole(request)];
  expect(made?.parameters).toBe(expected.parameters);
  if (Object.keys(listOf(name)).length === 0) {
    expect(inWindows({ ...request, updates: updates.toReversed(), keep: false })?.parameters).toBe(expected.parameters);
  }
  const figures = (clients: readonly { norm?: number; cosine?: number | null }[] = []) =>
    clients.map(({ norm = 0, cosine }) => [norm.toFixed(6), (cosine ?? 0).toFixed(6)]);
  expect(figures(made?.clients)).toEqual(figures(expected.clients));
  // What a strategy carries over may be in either container; the next round is the same.
  expect(made?.state === undefined).toBe(expected.state === undefined);
  const second = { ...request, base: expected.parameters, state: made?.state ?? "", keep: false };
  expect(inWindows(second)?.parameters).toBe(whole({ ...second, state: expected.state ?? "" }).parameters);
});

test("what cannot go this way is left to /aggregate, which says what is wrong, and nothing half made stays in the folder", () => {
  const updates = updatesOf();
  const plain = { updates, strategy: { name: "mean" }, base: "", state: "", keep: true };
  expect(inWindows({ ...plain, strategy: { name: "krum", f: 1 } })).toBeUndefined();
  expect(inWindows({ ...plain, updates: updatesOf("npz") })).toBeUndefined();
  const broken = keep(encodeParameters(modelOf(3, Number.NaN), "safetensors"));
  const withNaN = { ...plain, updates: [...updates, { hash: broken, weight: 1, id: "bad" }] };
  expect(inWindows(withNaN)).toBeUndefined();
  expect(whole(withNaN).clients.at(-1)).toMatchObject({ id: "bad", accepted: false, reason: "NON_FINITE" });
  expect(() => inWindows({ ...plain, strategy: { name: "trimmed_mean", share: 1 } })).toThrow("share");
  expect(readdirSync(folder).filter((name) => name.startsWith("."))).toEqual([]);
});

test("counters take the maximum, and the blob is what its name says", () => {
  const made = inWindows({ updates: updatesOf(), strategy: { name: "mean" }, base: "", state: "", keep: true });
  const bytes = readFileSync(join(folder, made?.parameters ?? ""));
  expect(hash("sha256", bytes, "hex")).toBe(made?.parameters);
  const steps = decodeParameters(bytes).tensors.find(({ name }) => name === "steps");
  expect([...((steps?.data ?? []) as BigInt64Array)]).toEqual([14n, 7n]);
});
