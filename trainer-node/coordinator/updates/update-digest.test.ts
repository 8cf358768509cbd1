import { hash } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLogger } from "../../../common/logger.ts";
import { encodeParameters } from "../../codec/parameters.ts";
import type { Tensor } from "../../compute/tensor.ts";
import { createAggregation } from "../aggregation.ts";
import { openBlobFolder } from "../blobs/blob-folder.ts";
import { inspectUpdate } from "./inspect-update.ts";
import { digestByFollowing, digestHere } from "./update-digest.ts";

const tensors = (last = 1): Tensor[] => [
  { name: "wide", dtype: "f64", shape: [5], data: Float64Array.from([1, 2, 3, 4, 5]) },
  { name: "weights", dtype: "f32", shape: [30, 10], data: new Float32Array(300).fill(0.5) },
  { name: "count", dtype: "i32", shape: [3], data: Int32Array.from([1, 2, 3]) },
  { name: "half", dtype: "f16", shape: [7], data: Float32Array.from([1, 2, 3, 4, 5, 6, last]) },
];

/** The first piece has the head, which is longer than the pieces after it. */
function pass(update: Uint8Array, { bytes, head = 400, piece = 64 }: { bytes?: number | undefined; head?: number; piece?: number } = {}) {
  const passing = digestHere(bytes);
  passing.add(update.slice(0, head));
  for (let at = head; at < update.byteLength; at += piece) passing.add(update.slice(at, at + piece));
  return passing;
}

const whole = encodeParameters(tensors(), "safetensors");

test.each([8, 16, 64, 1000, 4096])("looks the same in pieces of %i bytes as it does in one", (piece) => {
  expect(pass(whole, { bytes: whole.byteLength, piece }).layout()).toBe(inspectUpdate(whole));
});

test.each([Number.NaN, Number.POSITIVE_INFINITY])("%p is found in any piece and reported with the layout", (value) => {
  const update = encodeParameters(tensors(value), "safetensors");
  const passing = pass(update, { bytes: update.byteLength });
  expect(() => passing.layout()).toThrow('NON_FINITE: tensor "half"');
  for (const at of [0, 77, 299]) {
    const data = new Float32Array(300);
    data[at] = value;
    const other = encodeParameters([{ name: "w", dtype: "f32", shape: [300], data }], "safetensors");
    expect(() => pass(other, { bytes: other.byteLength }).layout()).toThrow("NON_FINITE");
  }
});

describe("is left to the reader of the whole update", () => {
  test.each([
    ["its length is not known", whole, undefined],
    ["it ends too soon", whole.slice(0, -8), whole.byteLength],
    ["it is of another format", encodeParameters(tensors(), "npz"), encodeParameters(tensors(), "npz").byteLength],
    ["it is damaged", Uint8Array.from(whole, (byte, at) => (at === 20 ? 0 : byte)), whole.byteLength],
    ["it is empty", new Uint8Array(0), 0],
  ])("where %s", (_, update, bytes) => {
    expect(pass(update, { bytes }).layout()).toBeUndefined();
  });

  test("where its head is longer than the first piece", () => {
    expect(pass(whole, { bytes: whole.byteLength, head: 64 }).layout()).toBeUndefined();
  });

  test("where its numbers lie so that pieces cut them", () => {
    const odd = oneByteLater(encodeParameters([{ name: "w", dtype: "f32", shape: [2], data: Float32Array.from([1, 2]) }], "safetensors"));
    expect(inspectUpdate(odd)).toContain("f32");
    expect(pass(odd, { bytes: odd.byteLength }).layout()).toBeUndefined();
  });
});

/** With one more space in its head. */
function oneByteLater(update: Uint8Array): Uint8Array {
  const length = Number(new DataView(update.buffer, update.byteOffset).getBigUint64(0, true));
  const later = Buffer.concat([update.subarray(0, 8 + length), Buffer.from(" "), update.subarray(8 + length)]);
  later.writeBigUInt64LE(BigInt(length + 1));
  return later;
}

describe("a large update, by another thread", () => {
  const folder = mkdtempSync(join(tmpdir(), "tributary-digest-"));
  const blobs = openBlobFolder({ folder, bytesMax: 100_000_000 });
  const aggregation = createAggregation({ blobs, recordBytes: 0, logger: silentLogger });
  const large = (value: number) => {
    const data = new Float32Array(1_000_003).fill(0.25);
    data[data.length - 2] = value;
    return encodeParameters([{ name: "w", dtype: "f32", shape: [data.length], data }], "safetensors");
  };
  async function* inPieces(update: Uint8Array): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < update.byteLength; at += 300_000) yield update.subarray(at, at + 300_000);
  }

  afterAll(async () => {
    await aggregation.close();
    rmSync(folder, { recursive: true });
  });

  test("has the same hash and the same layout, many at the same time", async () => {
    const stored = [1, 2, 3, 4, 5].map(async (value) => {
      const update = large(value);
      const digest = digestByFollowing(aggregation.follow)(update.byteLength);
      const { sha256 } = await blobs.keep(inPieces(update), { digest });
      expect(sha256).toBe(hash("sha256", update, "hex"));
      expect(digest.layout()).toBe(inspectUpdate(update));
    });
    await Promise.all(stored);
  });

  test("is refused for a NaN", async () => {
    const update = large(Number.NaN);
    const digest = digestByFollowing(aggregation.follow)(update.byteLength);
    await blobs.keep(inPieces(update), { digest });
    expect(() => digest.layout()).toThrow('NON_FINITE: tensor "w"');
  });

  test("is hashed here where the thread has ended, and then has to be read to be judged", async () => {
    const update = large(1);
    const digest = digestByFollowing(() => Promise.reject(new Error("the thread ended")))(update.byteLength);
    expect((await blobs.keep(inPieces(update), { digest })).sha256).toBe(hash("sha256", update, "hex"));
    expect(digest.layout()).toBeUndefined();
  });

  test("that ends early leaves no waiting thread: the next update is done", async () => {
    const update = large(1);
    const broken = digestByFollowing(aggregation.follow)(update.byteLength);
    const breaksOff = async function* (): AsyncGenerator<Uint8Array> {
      yield update.subarray(0, 2_000_000);
      throw new Error("broke off");
    };
    await expect(blobs.keep(breaksOff(), { digest: broken })).rejects.toThrow("broke off");
    const digest = digestByFollowing(aggregation.follow)(update.byteLength);
    await blobs.keep(inPieces(update), { digest });
    expect(digest.layout()).toBe(inspectUpdate(update));
    expect(readdirSync(folder).filter((name) => name.startsWith(".partial"))).toEqual([]);
  });

  test("does not mind that a combination beside it is given up, which ends the thread", async () => {
    const update = large(6);
    const digest = digestByFollowing(aggregation.follow)(update.byteLength);
    const given = new AbortController();
    const withStop = async function* (): AsyncGenerator<Uint8Array> {
      yield update.subarray(0, 2_000_000);
      const { sha256 } = await blobs.keepBytes(large(7));
      const updates = Array.from({ length: 100 }, (_, index) => ({ hash: sha256, weight: 1, id: String(index) }));
      const stored = aggregation.store({ updates, strategy: { name: "mean" }, base: "", state: "" }, given.signal);
      setTimeout(() => given.abort(), 1);
      await expect(stored).rejects.toThrow();
      yield update.subarray(2_000_000);
    };
    const { sha256 } = await blobs.keep(withStop(), { digest });
    expect(sha256).toBe(hash("sha256", update, "hex"));
    const again = digestByFollowing(aggregation.follow)(update.byteLength);
    await blobs.keep(inPieces(update), { digest: again });
    expect(again.layout()).toBe(inspectUpdate(update));
  });
});
