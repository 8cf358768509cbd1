import { findTensors } from "../blobs/tensor-file.ts";
import type { PlacedTensor } from "../codec/safetensors.ts";
import { ELEMENT_BYTES, isFloatType } from "../compute/tensor.ts";
import { type Layout, layoutOf, refuseNonFinite, unlessDamaged } from "./inspect-update.ts";

/** An update that is looked at while its bytes pass by, and need not be read again for it. */
export interface PassingUpdate {
  /** The next bytes; so many each time that no number is cut, which eight and multiples of it are. */
  add(piece: Uint8Array): void;
  /** What inspectUpdate says of the whole. Undefined where only inspectUpdate can say it. */
  layout(): Layout | undefined;
}

/** `bytes`: of the whole, where it is known. */
export function inspectPassing(bytes: number | undefined): PassingUpdate {
  let tensors: readonly PlacedTensor[] | undefined;
  let passed = 0;
  // Told when it is asked for: bytes that are not those that were announced may be anything.
  let problem: unknown;
  return {
    add: (piece) => {
      if (passed === 0 && bytes !== undefined) tensors = unlessDamaged(() => tensorsByHead(piece, bytes));
      try {
        for (const tensor of problem ? [] : (tensors ?? [])) inspectPart(tensor, piece, passed);
      } catch (thrown) {
        problem = thrown;
      }
      passed += piece.byteLength;
    },
    layout: () => {
      if (problem) throw problem;
      return tensors && passed === bytes ? layoutOf(tensors) : undefined;
    },
  };
}

/** Undefined also where the head is longer than the first piece, or a tensor lies so that pieces cut its numbers. */
function tensorsByHead(piece: Uint8Array, bytes: number): readonly PlacedTensor[] | undefined {
  const tensors = findTensors((position, target) => target.set(piece.subarray(position, position + target.byteLength)), bytes);
  return tensors?.every(({ start, dtype }) => start % ELEMENT_BYTES[dtype] === 0) ? tensors : undefined;
}

function inspectPart(tensor: PlacedTensor, piece: Uint8Array, at: number): void {
  const [start, end] = [Math.max(tensor.start, at), Math.min(tensor.end, at + piece.byteLength)];
  if (start < end && isFloatType(tensor.dtype)) refuseNonFinite(tensor, piece.subarray(start - at, end - at));
}
