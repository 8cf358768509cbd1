import type { Compression } from "../../common/training/compression-settings.ts";
import { createRandom } from "../compute/random.ts";
import type { FloatTensor, Tensor } from "../compute/tensor.ts";
import { compressUpdate, expandUpdate } from "./compression.ts";

const SIZE = 1000;
const METHODS: readonly Compression[] = [{ method: "float16" }, { method: "int8" }, { method: "top_k", share: 0.02 }];

const random = createRandom(7, 1);
const normals = (scale: number) => Float32Array.from({ length: SIZE }, () => scale * random.normal());
const weights = (data: Float32Array): Tensor[] => [
  { name: "w", dtype: "f32", shape: [SIZE / 2, 2], data },
  { name: "steps", dtype: "i64", shape: [1], data: BigInt64Array.of(5n) },
];
const dataOf = (tensors: readonly Tensor[]): Float32Array => (tensors.find(({ name }) => name === "w") as FloatTensor).data as Float32Array;

describe.each(METHODS)("$method", (compression) => {
  test("expands to base and change, as near as its method allows, and integers stay", () => {
    const base = normals(1);
    const changes = normals(0.01);
    const after = weights(base.map((value, index) => value + (changes[index] as number)));
    const { tensors, residual } = compressUpdate({ base: weights(base), after, residual: [] }, compression);
    const expanded = expandUpdate(weights(base), tensors, compression.method);
    expect(expanded.map(({ name, dtype, shape }) => [name, dtype, shape])).toEqual([
      ["w", "f32", [SIZE / 2, 2]],
      ["steps", "i64", [1]],
    ]);
    const largest = changes.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    const bound = { float16: largest / 1024, int8: largest / 127, top_k: largest }[compression.method];
    for (const [index, value] of dataOf(after).entries()) {
      const missing = value - (dataOf(expanded)[index] as number);
      expect(Math.abs(missing)).toBeLessThanOrEqual(bound);
      expect(missing).toBeCloseTo((residual[0]?.data[index] as number) ?? Number.NaN, 6);
    }
  });

  test("what is lost is sent later: over many rounds nothing is missing but the last residual", () => {
    let base: Float32Array = normals(1);
    let exact = Float64Array.from(base);
    let residual: readonly Tensor[] = [];
    for (let round = 0; round < 30; round++) {
      const changes = normals(0.01);
      exact = exact.map((value, index) => value + (changes[index] as number));
      const after = weights(base.map((value, index) => value + (changes[index] as number)));
      const made = compressUpdate({ base: weights(base), after, residual }, compression);
      base = dataOf(expandUpdate(weights(base), made.tensors, compression.method));
      residual = made.residual;
    }
    for (const [index, value] of exact.entries())
      expect((base[index] as number) + ((residual[0] as FloatTensor).data[index] as number)).toBeCloseTo(value, 4);
  });

  test("is refused if it was changed, is of another method or was not compressed", () => {
    const base = weights(normals(1));
    const { tensors } = compressUpdate({ base, after: weights(normals(1)), residual: [] }, compression);
    const changed = tensors.map((tensor) =>
      tensor.dtype === "f16" || tensor.dtype === "f32" ? { ...tensor, data: tensor.data.map((value) => -value) } : tensor,
    );
    expect(() => expandUpdate(base, changed as Tensor[], compression.method)).toThrow("do not expand to the SHA-256");
    const other = compression.method === "int8" ? "float16" : "int8";
    expect(() => expandUpdate(base, tensors, other)).toThrow(
      `its compression is ${compression.method}, and that of the federation is ${other}`,
    );
    expect(() => expandUpdate(base, base, compression.method)).toThrow("its compression is none");
    expect(() => expandUpdate(base, tensors.slice(0, 1), compression.method)).toThrow('tensor "w" is missing');
  });
});

test.each([
  [[3, 3], "missing or has other sizes"],
  [[5, 2], "missing or has other sizes"],
  [[0, SIZE], "missing or has other sizes"],
])("indexes %j of the largest numbers are refused: twice, backwards, beyond the end", (indexes, message) => {
  const base = weights(normals(1));
  const { tensors } = compressUpdate({ base, after: weights(normals(1)), residual: [] }, { method: "top_k", share: 0.002 });
  const hostile = tensors.map((tensor) => (tensor.dtype === "u32" ? { ...tensor, data: Uint32Array.from(indexes) } : tensor));
  expect(() => expandUpdate(base, hostile as Tensor[], "top_k")).toThrow(message);
});

describe("numbers that are not finite", () => {
  const tensor = (dtype: "f32" | "f64", values: number[]): Tensor[] => [
    { name: "w", dtype, shape: [values.length], data: dtype === "f32" ? Float32Array.from(values) : Float64Array.from(values) },
  ];
  const base = tensor("f32", [0, 0]);

  test.each(METHODS.flatMap(({ method }) => [Number.NaN, Number.POSITIVE_INFINITY].map((value) => ({ method, value }))))(
    "$value in an update is refused before $method",
    ({ method, value }) => {
      const refused = () => compressUpdate({ base, after: tensor("f32", [1, value]), residual: [] }, { method });
      expect(refused).toThrow(expect.objectContaining({ kind: "NON_FINITE", details: { tensor: "w" } }));
      expect(refused).toThrow('the change of tensor "w" has a NaN or infinity, so it cannot be compressed');
    },
  );

  test.each([
    { method: "float16", value: 1e5 },
    { method: "int8", value: 1e42 },
    { method: "top_k", value: 1e42 },
  ] as const)("a change of $value is more than $method can represent", ({ method, value }) => {
    const given = { base: tensor("f64", [0, 0]), after: tensor("f64", [1, value]), residual: [] };
    expect(() => compressUpdate(given, { method })).toThrow(`the change of tensor "w" has a number that ${method} cannot represent`);
  });

  test("a residual that is not finite is not added", () => {
    const after = tensor("f32", [1, 2]);
    const made = compressUpdate({ base, after, residual: tensor("f32", [Number.NaN, 0]) }, { method: "float16" });
    expect(dataOf(expandUpdate(base, made.tensors, "float16"))).toEqual(Float32Array.of(1, 2));
  });
});

// The same digests are in sdk/python/tests/test_compression.py, of the same numbers.
test.each([
  { method: "float16", sha256: "5ec896941535d24e634a853ed391cf5836f89d83e3de5b1a0c4bdc0811f07fde" },
  { method: "int8", sha256: "6bf0da08e19714255fbb04d3af258347bfb488ef4c22b9674093fb299b528bda" },
  { method: "top_k", sha256: "a70bf8124539ef60a9bf3d84ea434efd67bbaa378e392430895ce83b4efeb7f0" },
] as const)("parameters of float16 expand to the numbers that a Python participant gets: $method", ({ method, sha256 }) => {
  const count = 100_000;
  let last = 7;
  const drawn = Array.from({ length: 2 * count }, () => {
    last = (Math.imul(last, 1_664_525) + 1_013_904_223) >>> 0;
    return last;
  });
  const start = Float32Array.from(drawn.slice(0, count), (value) => 1 + (value >>> 22) * 2 ** -10);
  const owed = Float32Array.from(drawn.slice(count), (value) => ((value >>> 8) - 2 ** 23) * 2 ** -33);
  const base: Tensor[] = [{ name: "w", dtype: "f16", shape: [count], data: start }];
  const residual: Tensor[] = [{ name: "w", dtype: "f32", shape: [count], data: owed }];
  const { tensors } = compressUpdate({ base, after: base, residual }, { method, share: 0.5 });
  const described = tensors.find(({ name }) => name === "#compression")?.data as Uint8Array;
  expect(JSON.parse(new TextDecoder().decode(described))).toEqual({ method, sha256 });
});

test("of equal numbers the first are sent", () => {
  const tensor = (values: number[]): Tensor[] => [{ name: "w", dtype: "f64", shape: [4], data: Float64Array.from(values) }];
  const { tensors } = compressUpdate(
    { base: tensor([0, 0, 0, 0]), after: tensor([1, -2, 1, 1]), residual: [] },
    { method: "top_k", share: 0.5 },
  );
  expect(tensors.find(({ name }) => name === "w#index")?.data).toEqual(Uint32Array.of(0, 1));
});

test("parameters with other tensors than the base cannot be compressed", () => {
  const after: Tensor[] = [{ name: "v", dtype: "f32", shape: [1], data: Float32Array.of(1) }];
  expect(() => compressUpdate({ base: weights(normals(1)), after, residual: [] }, { method: "int8" })).toThrow('"v" differs');
});
