import type { PlacedTensor } from "../codec/safetensors.ts";
import { InputProblem } from "../compute/problem.ts";
import { ELEMENT_BYTES, firstNonFinite, isFloatType, type TensorHeader, tensorFromBytes } from "../compute/tensor.ts";
import { TrainerError } from "../errors.ts";
import { findTensors } from "./tensor-file.ts";

/** Inspects a safetensors file while its bytes pass by, so that it need not be read again. */
export interface PassingTensors {
  /** Takes the next bytes. Their number must be a multiple of eight, so that no element is split. */
  add(piece: Uint8Array): void;
  /** Undefined if the file could not be inspected in passing, is damaged or has another format. */
  found(): FoundTensors | undefined;
}

/** The tensors of a file, and whether their numbers are finite. */
export interface FoundTensors {
  readonly tensors: readonly TensorHeader[];
  /** The name of a tensor with a NaN or infinity. */
  readonly nonFinite: string | undefined;
}

/** `bytes` is the size of the whole file, if it is known. */
export function passingTensors(bytes: number | undefined): PassingTensors {
  let tensors: readonly PlacedTensor[] | undefined;
  let nonFinite: string | undefined;
  let passed = 0;
  return {
    add: (piece) => {
      if (passed === 0 && bytes !== undefined) tensors = unlessDamaged(() => tensorsByHead(piece, bytes));
      nonFinite ??= tensors?.find((tensor) => !isFinitePart(tensor, piece, passed))?.name;
      passed += piece.byteLength;
    },
    found: () => (tensors && passed === bytes ? { tensors, nonFinite } : undefined),
  };
}

/** Undefined for a damaged file, too: the reader of the whole file reports what is wrong. */
export function unlessDamaged<Found>(find: () => Found): Found | undefined {
  try {
    return find();
  } catch (thrown) {
    if (thrown instanceof InputProblem || thrown instanceof TrainerError) return undefined;
    throw thrown;
  }
}

/** Whether these bytes of a float tensor are all finite. */
export function areFinite(tensor: TensorHeader, bytes: Uint8Array): boolean {
  const { data } = tensorFromBytes({ ...tensor, shape: [bytes.byteLength / ELEMENT_BYTES[tensor.dtype]] }, bytes);
  return firstNonFinite(data as Float64Array) < 0;
}

/** Undefined if the header is longer than the first piece, or if pieces would split the elements of a tensor. */
function tensorsByHead(piece: Uint8Array, bytes: number): readonly PlacedTensor[] | undefined {
  const tensors = findTensors((position, target) => target.set(piece.subarray(position, position + target.byteLength)), bytes);
  return tensors?.every(({ start, dtype }) => start % ELEMENT_BYTES[dtype] === 0) ? tensors : undefined;
}

function isFinitePart(tensor: PlacedTensor, piece: Uint8Array, at: number): boolean {
  const [start, end] = [Math.max(tensor.start, at), Math.min(tensor.end, at + piece.byteLength)];
  return start >= end || !isFloatType(tensor.dtype) || areFinite(tensor, piece.subarray(start - at, end - at));
}
