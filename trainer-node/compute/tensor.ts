import { InputProblem } from "./problem.ts";

/** The element types this node computes with, by their short names. */
export const DTYPES = ["f32", "f64", "i32", "i64", "u8"] as const;
export type DType = (typeof DTYPES)[number];

export interface FloatTensor {
  readonly name: string;
  readonly dtype: "f32" | "f64";
  readonly shape: readonly number[];
  readonly data: Float32Array | Float64Array;
}

export interface IntegerTensor {
  readonly name: string;
  readonly dtype: "i32" | "i64" | "u8";
  readonly shape: readonly number[];
  readonly data: Int32Array | BigInt64Array | Uint8Array;
}

export type Tensor = FloatTensor | IntegerTensor;

export const ELEMENT_BYTES: Readonly<Record<DType, number>> = { f32: 4, f64: 8, i32: 4, i64: 8, u8: 1 };

export const TENSOR_LIMITS = { elementsMax: 2 ** 31 - 1, dimensionsMax: 32, tensorsMax: 10_000, nameBytesMax: 512 } as const;

export function isDType(value: unknown): value is DType {
  return typeof value === "string" && (DTYPES as readonly string[]).includes(value);
}

export function isFloat(tensor: Tensor): tensor is FloatTensor {
  return tensor.dtype === "f32" || tensor.dtype === "f64";
}

/** The product of the dimensions; refused before it can overflow, so that no shape makes a small buffer look large. */
function elementCount(shape: readonly number[], name: string): number {
  if (shape.length > TENSOR_LIMITS.dimensionsMax) {
    throw new InputProblem("VALIDATION_ERROR", `tensor "${name}" has ${shape.length} dimensions; at most ${TENSOR_LIMITS.dimensionsMax}`, {
      tensor: name,
    });
  }
  let count = 1;
  for (const dimension of shape) {
    if (!Number.isSafeInteger(dimension) || dimension < 0) {
      throw new InputProblem("VALIDATION_ERROR", `tensor "${name}" has a dimension that is not a whole number`, { tensor: name });
    }
    count *= dimension;
    // A zero later on does not excuse an impossible size before it.
    if (count > TENSOR_LIMITS.elementsMax) {
      throw new InputProblem("VALIDATION_ERROR", `tensor "${name}" has more than ${TENSOR_LIMITS.elementsMax} elements`, { tensor: name });
    }
  }
  return count;
}

/** A tensor from raw little-endian bytes, copied: the source may be unaligned and is often part of a larger message. */
export function tensorFromBytes(header: { name: string; dtype: DType; shape: readonly number[] }, bytes: Uint8Array): Tensor {
  const { name, dtype, shape } = header;
  const needed = elementCount(shape, name) * ELEMENT_BYTES[dtype];
  if (bytes.byteLength !== needed) {
    const message = `tensor "${name}" of shape [${shape.join(", ")}] and dtype ${dtype} needs ${needed} bytes but has ${bytes.byteLength}`;
    throw new InputProblem("VALIDATION_ERROR", message, { tensor: name, needed_bytes: needed, given_bytes: bytes.byteLength });
  }
  const buffer = new ArrayBuffer(needed);
  new Uint8Array(buffer).set(bytes);
  switch (dtype) {
    case "f32":
      return { name, dtype, shape, data: new Float32Array(buffer) };
    case "f64":
      return { name, dtype, shape, data: new Float64Array(buffer) };
    case "i32":
      return { name, dtype, shape, data: new Int32Array(buffer) };
    case "i64":
      return { name, dtype, shape, data: new BigInt64Array(buffer) };
    case "u8":
      return { name, dtype, shape, data: new Uint8Array(buffer) };
  }
}

/** The raw bytes of a tensor, as a view. */
export function tensorBytes(tensor: Tensor): Uint8Array {
  return new Uint8Array(tensor.data.buffer, tensor.data.byteOffset, tensor.data.byteLength);
}

export function sameShape(left: readonly number[], right: readonly number[]): boolean {
  return left.length === right.length && left.every((dimension, index) => dimension === right[index]);
}

/** The index of the first NaN or infinity, or -1. */
export function firstNonFinite(data: ArrayLike<number>): number {
  for (let index = 0; index < data.length; index++) {
    if (!Number.isFinite(data[index])) return index;
  }
  return -1;
}
