import type { PlacedTensor } from "../codec/safetensors.ts";
import { InputProblem } from "../compute/problem.ts";
import { ELEMENT_BYTES, firstNonFinite, isFloatType, type TensorHeader, tensorFromBytes } from "../compute/tensor.ts";
import { TrainerError } from "../errors.ts";
import { findTensors } from "./tensor-file.ts";

/** A safetensors file that is looked at while its bytes pass by, and need not be read again for it. */
export interface PassingTensors {
  /** The next bytes; so many each time that no number is cut, which eight and multiples of it are. */
  add(piece: Uint8Array): void;
  /** Undefined where this cannot be said in passing, or the file is damaged or of another format. */
  found(): FoundTensors | undefined;
}

export interface FoundTensors {
  readonly tensors: readonly TensorHeader[];
  /** A tensor that has a NaN or infinity. */
  readonly nonFinite: string | undefined;
}

/** `bytes`: of the whole file, where that is known. */
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

/** Undefined for what is damaged, too: whoever reads the whole says what is wrong with it. */
export function unlessDamaged<Found>(find: () => Found): Found | undefined {
  try {
    return find();
  } catch (thrown) {
    if (thrown instanceof InputProblem || thrown instanceof TrainerError) return undefined;
    throw thrown;
  }
}

/** By some of a float tensor's bytes. */
export function areFinite(tensor: TensorHeader, bytes: Uint8Array): boolean {
  const { data } = tensorFromBytes({ ...tensor, shape: [bytes.byteLength / ELEMENT_BYTES[tensor.dtype]] }, bytes);
  return firstNonFinite(data as Float64Array) < 0;
}

/** Undefined also where the head is longer than the first piece, or a tensor lies so that pieces cut its numbers. */
function tensorsByHead(piece: Uint8Array, bytes: number): readonly PlacedTensor[] | undefined {
  const tensors = findTensors((position, target) => target.set(piece.subarray(position, position + target.byteLength)), bytes);
  return tensors?.every(({ start, dtype }) => start % ELEMENT_BYTES[dtype] === 0) ? tensors : undefined;
}

function isFinitePart(tensor: PlacedTensor, piece: Uint8Array, at: number): boolean {
  const [start, end] = [Math.max(tensor.start, at), Math.min(tensor.end, at + piece.byteLength)];
  return start >= end || !isFloatType(tensor.dtype) || areFinite(tensor, piece.subarray(start - at, end - at));
}
