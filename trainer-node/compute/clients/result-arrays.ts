import type { KernelMemory } from "../kernels/kernel-memory.ts";
import type { Floats } from "../tensor.ts";

/**
 * Arrays for models that a call makes. New memory costs more than the sums that are written to it, for the system clears it page by page:
 * so what a call is done with is kept for the next one, which has models of the same size nearly always.
 */
export interface ResultArrays {
  /** With anything in it: whoever takes it writes every element. */
  take(length: number, elementBytes: number): Floats;
  /** Everything that was taken is free again; nobody may use it any more. */
  release(): void;
}

/** Keeps up to `keptBytesMax` for the next call. */
export function createResultArrays(keptBytesMax: number): ResultArrays {
  let free: ArrayBuffer[] = [];
  let taken: ArrayBuffer[] = [];
  return {
    take: (length, elementBytes) => {
      const bytes = length * elementBytes;
      const found = free.find((buffer) => buffer.byteLength === bytes);
      const buffer = found ?? new ArrayBuffer(bytes);
      if (found) free.splice(free.indexOf(found), 1);
      taken.push(buffer);
      return elementBytes === 4 ? new Float32Array(buffer) : new Float64Array(buffer);
    },
    release: () => {
      let keptBytes = 0;
      free = [...taken, ...free].filter((buffer) => {
        keptBytes += buffer.byteLength;
        return keptBytes <= keptBytesMax;
      });
      taken = [];
    },
  };
}

/**
 * Arrays above the top of the kernels' memory as long as there is room: the last client was read to that place and is done with, so a
 * result there needs no memory of its own. What finds no room is of `others`.
 */
export function resultsAbove(memory: KernelMemory, others: ResultArrays): ResultArrays {
  let bottom: number | undefined;
  return {
    take: (length, elementBytes) => {
      const bytes = length * elementBytes;
      if (memory.top + bytes > memory.buffer.byteLength) return others.take(length, elementBytes);
      bottom ??= memory.top;
      memory.hold();
      const at = memory.reserve(bytes);
      return elementBytes === 4 ? new Float32Array(memory.buffer, at, length) : new Float64Array(memory.buffer, at, length);
    },
    release: () => {
      if (bottom !== undefined) memory.release(bottom);
      bottom = undefined;
      others.release();
    },
  };
}
