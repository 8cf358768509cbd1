import { encodeParameters } from "../codec/parameters.ts";
import type { Tensor } from "../compute/tensor.ts";
import { inspectPassing } from "./inspect-passing.ts";
import { inspectUpdate } from "./inspect-update.ts";

const tensors = (last = 1): Tensor[] => [
  { name: "wide", dtype: "f64", shape: [5], data: Float64Array.from([1, 2, 3, 4, 5]) },
  { name: "weights", dtype: "f32", shape: [30, 10], data: new Float32Array(300).fill(0.5) },
  { name: "count", dtype: "i32", shape: [3], data: Int32Array.from([1, 2, 3]) },
  { name: "half", dtype: "f16", shape: [7], data: Float32Array.from([1, 2, 3, 4, 5, 6, last]) },
];

/** The first piece has the head, which is longer than the pieces after it. */
function pass(update: Uint8Array, { bytes, head = 400, piece = 64 }: { bytes?: number | undefined; head?: number; piece?: number } = {}) {
  const passing = inspectPassing(bytes);
  passing.add(update.slice(0, head));
  for (let at = head; at < update.byteLength; at += piece) passing.add(update.slice(at, at + piece));
  return passing;
}

const whole = encodeParameters(tensors(), "safetensors");

test.each([8, 16, 64, 1000, 4096])("looks the same in pieces of %i bytes as it does in one", (piece) => {
  expect(pass(whole, { bytes: whole.byteLength, piece }).layout()).toBe(inspectUpdate(whole));
});

test.each([Number.NaN, Number.POSITIVE_INFINITY])("%p is found in whatever piece it comes, and told when it is asked for", (value) => {
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

describe("is left to whoever reads the whole", () => {
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
