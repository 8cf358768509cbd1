import { narrowToBrain, narrowToHalf, widenBrain, widenHalf } from "./half.ts";
import { InputProblem } from "./problem.ts";

const FLOAT_TYPES = ["f16", "bf16", "f32", "f64"] as const;
const INTEGER_TYPES = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "bool"] as const;

/** The element types that this node reads and writes. */
export const DTYPES = [...FLOAT_TYPES, ...INTEGER_TYPES] as const;
/** A float element type. */
export type FloatType = (typeof FLOAT_TYPES)[number];
/** An integer element type. */
export type IntegerType = (typeof INTEGER_TYPES)[number];
/** An element type. */
export type DType = FloatType | IntegerType;

/** Float elements in memory. */
export type Floats = Float32Array<ArrayBufferLike> | Float64Array<ArrayBufferLike>;
/** Integer elements in memory. */
export type Integers = Int8Array | Int16Array | Int32Array | BigInt64Array | Uint8Array | Uint16Array | Uint32Array | BigUint64Array;

/** A tensor of floats. In memory, half-precision elements are float32: widened exactly when read, rounded to nearest when written. */
export interface FloatTensor {
  readonly name: string;
  readonly dtype: FloatType;
  readonly shape: readonly number[];
  readonly data: Floats;
}

/** A tensor of integers. */
export interface IntegerTensor {
  readonly name: string;
  readonly dtype: IntegerType;
  readonly shape: readonly number[];
  readonly data: Integers;
}

/** A tensor. */
export type Tensor = FloatTensor | IntegerTensor;

/** Bytes of one element when written. */
export const ELEMENT_BYTES: Readonly<Record<DType, number>> = {
  f16: 2,
  bf16: 2,
  f32: 4,
  f64: 8,
  i8: 1,
  i16: 2,
  i32: 4,
  i64: 8,
  u8: 1,
  u16: 2,
  u32: 4,
  u64: 8,
  bool: 1,
};

/** Limits of tensors in a request. */
export const TENSOR_LIMITS = { elementsMax: 2 ** 31 - 1, dimensionsMax: 32, tensorsMax: 10_000, nameBytesMax: 512 } as const;

const INTEGER_ARRAYS = {
  i8: Int8Array,
  i16: Int16Array,
  i32: Int32Array,
  i64: BigInt64Array,
  u8: Uint8Array,
  u16: Uint16Array,
  u32: Uint32Array,
  u64: BigUint64Array,
  bool: Uint8Array,
} as const;

/** Whether a value is the name of an element type. */
export function isDType(value: unknown): value is DType {
  return typeof value === "string" && (DTYPES as readonly string[]).includes(value);
}

/** Whether a tensor has float elements. */
export function isFloat(tensor: Tensor): tensor is FloatTensor {
  return isFloatType(tensor.dtype);
}

/** Whether an element type is a float type. */
export function isFloatType(dtype: DType): dtype is FloatType {
  return (FLOAT_TYPES as readonly string[]).includes(dtype);
}

/** The product of the dimensions, refused before it can overflow, so that no shape makes a small buffer look large. */
export function elementCount(shape: readonly number[], name: string): number {
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
    // An impossible size is refused even if a later dimension is zero.
    if (count > TENSOR_LIMITS.elementsMax) {
      throw new InputProblem("VALIDATION_ERROR", `tensor "${name}" has more than ${TENSOR_LIMITS.elementsMax} elements`, { tensor: name });
    }
  }
  return count;
}

/** The name, type and shape of a tensor. */
export interface TensorHeader {
  readonly name: string;
  readonly dtype: DType;
  readonly shape: readonly number[];
}

/**
 * Reads a tensor from raw little-endian bytes: a view of them if their alignment allows it, else a copy. Receivers of tensors do not write
 * to them.
 */
export function tensorFromBytes({ name, dtype, shape }: TensorHeader, bytes: Uint8Array): Tensor {
  const count = elementCount(shape, name);
  const needed = count * ELEMENT_BYTES[dtype];
  if (bytes.byteLength !== needed) {
    const message = `tensor "${name}" of shape [${shape.join(", ")}] and dtype ${dtype} needs ${needed} bytes but has ${bytes.byteLength}`;
    throw new InputProblem("VALIDATION_ERROR", message, { tensor: name, needed_bytes: needed, given_bytes: bytes.byteLength });
  }
  const { buffer, byteOffset } = bytes.byteOffset % ELEMENT_BYTES[dtype] === 0 ? bytes : Uint8Array.from(bytes);
  switch (dtype) {
    case "f16":
      return { name, dtype, shape, data: widenHalf(new Uint16Array(buffer, byteOffset, count)) };
    case "bf16":
      return { name, dtype, shape, data: widenBrain(new Uint16Array(buffer, byteOffset, count)) };
    case "f32":
      return { name, dtype, shape, data: new Float32Array(buffer, byteOffset, count) };
    case "f64":
      return { name, dtype, shape, data: new Float64Array(buffer, byteOffset, count) };
    default:
      return { name, dtype, shape, data: new INTEGER_ARRAYS[dtype](buffer as ArrayBuffer, byteOffset, count) };
  }
}

/** The raw bytes of a tensor in its dtype; a view if no rounding is needed. */
export function tensorBytes(tensor: Tensor): Uint8Array {
  const data = rawData(tensor);
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}

function rawData(tensor: Tensor): Floats | Integers {
  if (tensor.dtype === "f16") return narrowToHalf(tensor.data as Float32Array);
  if (tensor.dtype === "bf16") return narrowToBrain(tensor.data as Float32Array);
  return tensor.data;
}

/** Whether two shapes are equal. */
export function sameShape(left: readonly number[], right: readonly number[]): boolean {
  return left.length === right.length && left.every((dimension, index) => dimension === right[index]);
}

/** The index of the first NaN or infinity, or -1. */
export function firstNonFinite(data: ArrayLike<number>): number {
  if (data instanceof Float32Array && allFinite32(data)) return -1;
  for (let index = 0; index < data.length; index++) {
    if (!Number.isFinite(data[index])) return index;
  }
  return -1;
}

/** The least magnitudes that are infinite when written: half a step above the largest number. */
const INFINITE_FROM: Readonly<Partial<Record<DType, number>>> = { f16: 65_520, bf16: (2 - 2 ** -8) * 2 ** 127 };

/** The index of the first element that would be a NaN or infinity when written as this type, or -1. */
export function firstNonFiniteAs(dtype: DType, data: Floats): number {
  const limit = INFINITE_FROM[dtype];
  if (limit === undefined) return firstNonFinite(data);
  for (let index = 0; index < data.length; index++) {
    if (!(Math.abs(data[index] as number) < limit)) return index;
  }
  return -1;
}

/**
 * Whether all elements are finite: zero times a finite number is zero. A function for one array type, so that the engine specializes it;
 * with four sums, because a single one waits for itself at every step and is slower than memory.
 */
function allFinite32(data: Float32Array): boolean {
  let [first, second, third, fourth] = [0, 0, 0, 0];
  const inFours = data.length - (data.length % 4);
  for (let index = 0; index < inFours; index += 4) {
    first += (data[index] as number) * 0;
    second += (data[index + 1] as number) * 0;
    third += (data[index + 2] as number) * 0;
    fourth += (data[index + 3] as number) * 0;
  }
  for (let index = inFours; index < data.length; index++) first += (data[index] as number) * 0;
  return first + second + third + fourth === 0;
}
