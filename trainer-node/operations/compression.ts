import { createHash } from "node:crypto";
import type { Compression, CompressionMethod } from "../../common/training/compression-settings.ts";
import { InputProblem } from "../compute/problem.ts";
import { type FloatTensor, firstNonFinite, isFloat, sameShape, type Tensor, tensorBytes } from "../compute/tensor.ts";

/** The tensor that describes compressed parameters: JSON with the method and the digest of what they expand to. */
const DESCRIPTION = "#compression";
const TOP_K_SHARE = 0.05;
const INT8_MAX = 127;

/** Numbers of one tensor as other tensors, whose names are the tensor's with a suffix. */
interface Packing {
  pack(change: Float64Array, about: { name: string; share: number }): Tensor[];
  /** Throws InputProblem if the parts are not those of a tensor with so many numbers. */
  unpack(part: (suffix: string) => Tensor | undefined, length: number): ArrayLike<number> | undefined;
}

const PACKINGS: Readonly<Record<CompressionMethod, Packing>> = {
  float16: {
    pack: (change, { name }) => [
      { name: `${name}#float16`, dtype: "f16", shape: [change.length], data: Float32Array.from(change, Math.f16round) },
    ],
    unpack: (part, length) => floatsOf(part("float16"), length),
  },
  int8: {
    pack: (change, { name }) => {
      const largest = change.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
      const scale = Math.fround(largest / INT8_MAX);
      const levels = Int8Array.from(change, (value) =>
        scale === 0 ? 0 : Math.max(-INT8_MAX, Math.min(INT8_MAX, Math.round(value / scale))),
      );
      return [
        { name: `${name}#int8`, dtype: "i8", shape: [levels.length], data: levels },
        { name: `${name}#scale`, dtype: "f32", shape: [1], data: Float32Array.of(scale) },
      ];
    },
    unpack: (part, length) => {
      const [levels, scale] = [part("int8"), floatsOf(part("scale"), 1)?.[0]];
      if (levels?.dtype !== "i8" || levels.data.length !== length || scale === undefined) return undefined;
      return Float64Array.from(levels.data as Int8Array, (level) => level * scale);
    },
  },
  top_k: {
    pack: (change, { name, share }) => {
      const indexes = largestOf(change, Math.min(change.length, Math.ceil(change.length * share)));
      return [
        { name: `${name}#index`, dtype: "u32", shape: [indexes.length], data: indexes },
        {
          name: `${name}#value`,
          dtype: "f32",
          shape: [indexes.length],
          data: Float32Array.from(indexes, (index) => change[index] as number),
        },
      ];
    },
    unpack: (part, length) => {
      const indexes = part("index");
      const values = indexes && floatsOf(part("value"), indexes.data.length);
      if (indexes?.dtype !== "u32" || !values) return undefined;
      const change = new Float64Array(length);
      let last = -1;
      for (const [at, index] of (indexes.data as Uint32Array).entries()) {
        if (index <= last || index >= length) return undefined;
        change[index] = values[at] as number;
        last = index;
      }
      return change;
    },
  },
};

function floatsOf(tensor: Tensor | undefined, length: number): ArrayLike<number> | undefined {
  return tensor && isFloat(tensor) && tensor.data.length === length ? tensor.data : undefined;
}

/** Indexes of the numbers with the largest magnitude, in ascending order; of equal ones the first. */
function largestOf(change: Float64Array, count: number): Uint32Array {
  const sizes = change.map(Math.abs).sort();
  const least = sizes[sizes.length - count] ?? 0;
  // How many of those that equal the least one are among the largest.
  let equal = sizes.subarray(sizes.length - count).filter((size) => size === least).length;
  const indexes = new Uint32Array(count);
  let taken = 0;
  for (let index = 0; index < change.length && taken < count; index++) {
    const size = Math.abs(change[index] as number);
    if (size > least || (size === least && equal-- > 0)) indexes[taken++] = index;
  }
  return indexes;
}

/** Compressed parameters, and what was lost: added to the next update of the same client, it is sent later (error feedback). */
export interface CompressedUpdate {
  readonly tensors: Tensor[];
  readonly residual: FloatTensor[];
}

/**
 * Compresses the change from the base, with the residual of the last update. Tensors of integers are sent whole. Throws InputProblem if the
 * parameters have other tensors than the base, or the change is not finite.
 */
export function compressUpdate(
  { base, after, residual }: { base: readonly Tensor[]; after: readonly Tensor[]; residual: readonly Tensor[] },
  compression: Compression,
): CompressedUpdate {
  const { method, share = TOP_K_SHARE } = compression;
  const starts = matching(base, after);
  const lost = new Map(residual.filter(isFloat).map((tensor) => [tensor.name, tensor]));
  const parts: Tensor[] = [];
  const [expanded, left]: [Tensor[], FloatTensor[]] = [[], []];
  for (const tensor of after) {
    const { name, shape } = tensor;
    const start = starts.get(name);
    if (!isFloat(tensor) || !start || !isFloat(start)) {
      parts.push({ ...tensor, name: `${name}#whole` });
      expanded.push(tensor);
      continue;
    }
    const change = changeOf(tensor, start, lost.get(name));
    const packed = PACKINGS[method].pack(change, { name, share });
    // Read back as a receiver reads it.
    const sent = unpacked(method, new Map(packed.map((part) => [part.name, part])), start);
    // Then the residual is finite, too: no number that is not sent, and no rounding, is larger than what is sent.
    if (firstNonFinite(sent) >= 0) throw nonFinite(name, `has a number that ${method} cannot represent; use another method`);
    parts.push(...packed);
    expanded.push(moved(start, sent));
    left.push({ name, dtype: "f32", shape, data: Float32Array.from(change, (value, index) => value - (sent[index] as number)) });
  }
  const text = new TextEncoder().encode(JSON.stringify({ method, sha256: contentDigest(expanded) }));
  return { tensors: [{ name: DESCRIPTION, dtype: "u8", shape: [text.length], data: text }, ...parts], residual: left };
}

/** A number that is not finite would stay in the client's residual, and in all its updates, for ever. */
function changeOf({ name, shape, data }: FloatTensor, start: FloatTensor, before: FloatTensor | undefined): Float64Array {
  const owed = before && sameShape(before.shape, shape) && firstNonFinite(before.data) < 0 ? before.data : undefined;
  const change = Float64Array.from(data, (value, index) => value - (start.data[index] as number) + (owed?.[index] ?? 0));
  if (firstNonFinite(change) >= 0) throw nonFinite(name, "has a NaN or infinity, so it cannot be compressed");
  return change;
}

/** The parameters that a compressed update stands for. Throws InputProblem if it is damaged, or not of the method that was asked for. */
export function expandUpdate(base: readonly Tensor[], compressed: readonly Tensor[], asked: CompressionMethod): Tensor[] {
  const { method, sha256 } = describedBy(compressed);
  if (method !== asked)
    throw refusal(`its compression is ${String(method ?? "none").slice(0, 50)}, and that of the federation is ${asked}`);
  const parts = new Map(compressed.map((tensor) => [tensor.name, tensor]));
  const expanded = base.map((start) => {
    const whole = parts.get(`${start.name}#whole`);
    if (whole && !isFloat(start)) return { ...whole, name: start.name };
    if (!isFloat(start)) throw refusal(`tensor "${start.name}" is missing`);
    return moved(start, unpacked(asked, parts, start));
  });
  if (contentDigest(expanded) !== sha256) throw refusal("its parameters do not expand to the SHA-256 that they name");
  return expanded;
}

function describedBy(compressed: readonly Tensor[]): { method?: unknown; sha256?: unknown } {
  const found = compressed.find(({ name, dtype }) => name === DESCRIPTION && dtype === "u8");
  try {
    return Object(JSON.parse(new TextDecoder().decode((found?.data as Uint8Array | undefined) ?? new Uint8Array(0))));
  } catch {
    return {};
  }
}

function unpacked(method: CompressionMethod, parts: ReadonlyMap<string, Tensor>, { name, data }: FloatTensor): ArrayLike<number> {
  const change = PACKINGS[method].unpack((suffix) => parts.get(`${name}#${suffix}`), data.length);
  if (!change) throw refusal(`tensor "${name}" is missing or has other sizes than that of the base`);
  return change;
}

/**
 * Sums in float64, rounded to the type of the base; those of float16 and bfloat16 first to float32, which they are in memory. Python
 * participants do the same.
 */
function moved(start: FloatTensor, change: ArrayLike<number>): FloatTensor {
  return { ...start, data: start.data.map((value, index) => value + (change[index] as number)) };
}

/** SHA-256 of names, types, shapes and numbers, in the order of the names: the same in every format. */
function contentDigest(tensors: readonly Tensor[]): string {
  const hash = createHash("sha256");
  for (const tensor of tensors.toSorted((left, right) => (left.name < right.name ? -1 : 1))) {
    hash.update(`${tensor.name}\n${tensor.dtype}\n${tensor.shape.join(",")}\n`);
    hash.update(tensorBytes(tensor));
  }
  return hash.digest("hex");
}

function matching(base: readonly Tensor[], after: readonly Tensor[]): Map<string, Tensor> {
  const starts = new Map(base.map((tensor) => [tensor.name, tensor]));
  const other = after.find(({ name, shape, dtype }) => {
    const start = starts.get(name);
    return !start || start.dtype !== dtype || !sameShape(start.shape, shape);
  });
  if (other || starts.size !== after.length) {
    const name = other?.name ?? "";
    throw new InputProblem("SHAPE_MISMATCH", `config.compress needs parameters with the tensors of the request; "${name}" differs`, {
      tensor: name,
    });
  }
  return starts;
}

const nonFinite = (tensor: string, what: string): InputProblem =>
  new InputProblem("NON_FINITE", `the change of tensor "${tensor}" ${what}`, { tensor });
const refusal = (message: string): InputProblem => new InputProblem("VALIDATION_ERROR", message);
