import type { KernelMemory } from "../kernels/kernel-memory.ts";
import type { Floats } from "../tensor.ts";

/**
 * Arrays for the models that a call makes. New memory costs more than the sums written to it, because the system clears it page by page. So
 * a call's arrays are reused by the next call, which almost always has models of the same size.
 */
export interface ResultArrays {
  /** The content is undefined: the caller writes every element. */
  take(length: number, elementBytes: number): Floats;
  /** Frees all arrays that were taken. They must not be used afterwards. */
  release(): void;
}

/** Creates result arrays that retain up to `retainedBytesMax` for the next call. */
export function createResultArrays(retainedBytesMax: number): ResultArrays {
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
      let retainedBytes = 0;
      free = [...taken, ...free].filter((buffer) => {
        retainedBytes += buffer.byteLength;
        return retainedBytes <= retainedBytesMax;
      });
      taken = [];
    },
  };
}

/**
 * Arrays above the top of the kernels' memory while there is space: the last client was read to that place and is no longer needed, so a
 * result there needs no further memory. Other arrays come from `others`.
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
