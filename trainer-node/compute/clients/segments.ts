import type { KernelMemory } from "../kernels/kernel-memory.ts";
import { ELEMENT_BYTES, type FloatType, type IntegerType, isFloat, sameShape, type Tensor, type TensorHeader } from "../tensor.ts";
import type { ResultArrays } from "./result-arrays.ts";

/** One tensor of a model, and its position in a client's record. */
export interface Segment {
  readonly name: string;
  readonly dtype: FloatType | IntegerType;
  readonly shape: readonly number[];
  readonly length: number;
  readonly float: boolean;
  /** Bytes of an element in memory, where half-precision floats are float32. */
  readonly elementBytes: number;
  readonly offsetBytes: number;
}

/** The layout of a record: tensors in sequence, each aligned to eight bytes. */
export function layoutOf(tensors: readonly Tensor[]): { segments: Segment[]; recordBytes: number } {
  let recordBytes = 0;
  const segments = tensors.map((tensor): Segment => {
    const { name, dtype, shape } = tensor;
    const elementBytes = isFloat(tensor) ? tensor.data.BYTES_PER_ELEMENT : ELEMENT_BYTES[dtype];
    const segment = { name, dtype, shape, length: tensor.data.length, float: isFloat(tensor), elementBytes, offsetBytes: recordBytes };
    recordBytes += Math.ceil((segment.length * elementBytes) / 8) * 8;
    return segment;
  });
  return { segments, recordBytes };
}

/** Orders the tensors as the segments, or returns how they differ. Names matter, order does not. */
export function alignTo<Header extends TensorHeader>(
  segments: readonly TensorHeader[],
  tensors: readonly Header[],
): Header[] | { kind: "SHAPE_MISMATCH" | "DTYPE_MISMATCH"; tensor: string; message: string } {
  const byName = new Map(tensors.map((tensor) => [tensor.name, tensor]));
  const aligned: Header[] = [];
  for (const { name, dtype, shape } of segments) {
    const tensor = byName.get(name);
    byName.delete(name);
    if (!tensor) return { kind: "SHAPE_MISMATCH", tensor: name, message: `tensor "${name}" is missing` };
    if (tensor.dtype !== dtype)
      return { kind: "DTYPE_MISMATCH", tensor: name, message: `tensor "${name}" is ${tensor.dtype}, not ${dtype}` };
    if (!sameShape(tensor.shape, shape)) {
      return {
        kind: "SHAPE_MISMATCH",
        tensor: name,
        message: `tensor "${name}" is [${tensor.shape.join(", ")}], not [${shape.join(", ")}]`,
      };
    }
    aligned.push(tensor);
  }
  const [extra] = byName.keys();
  return extra === undefined ? aligned : { kind: "SHAPE_MISMATCH", tensor: extra, message: `tensor "${extra}" is not in the others` };
}

/** Clients' records in memory, on disk, or both. */
export interface ClientRecords {
  readonly count: number;
  readonly segments: readonly Segment[];
  /** Memory for models made from the records, valid until the records are closed. */
  readonly results: ResultArrays;
  /** The memory that holds records. */
  readonly memory: KernelMemory;
  /** The address of a segment's first element; undefined for a client whose record is on disk. */
  place(client: number, segment: Segment): number | undefined;
  /** Fills `target` with the bytes of a segment's elements, beginning at `start`. */
  read(client: number, segment: Segment, start: number, target: Uint8Array): void;
}
