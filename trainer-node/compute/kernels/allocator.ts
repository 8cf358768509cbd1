import type { KernelMemory } from "./kernel-memory.ts";
import { type Kernels, padded } from "./kernels.ts";

const ALIGNMENT = 16;
const SLACK_BYTES = 65_536;

/** Adds space for aligning each array. */
export function withSlack(bytes: number): number {
  return bytes + SLACK_BYTES;
}

/** Allocates zeroed arrays in sequence above the top of a memory. */
export function createAllocator(memory: KernelMemory, bytes: number): Pick<Kernels, "floats" | "doubles" | "words"> {
  const end = memory.top + withSlack(bytes);
  memory.ensure(end);
  let used = memory.top;
  const allocate = (size: number): number => {
    const at = Math.ceil(used / ALIGNMENT) * ALIGNMENT;
    if (at + size > end) throw new RangeError(`the kernels' memory of ${bytes} bytes is full`);
    used = at + size;
    new Uint8Array(memory.buffer, at, size).fill(0);
    return at;
  };
  return {
    floats: (count) => new Float32Array(memory.buffer, allocate(padded(count) * 4), count),
    doubles: (count) => new Float64Array(memory.buffer, allocate(padded(count) * 8), count),
    words: (count) => new Int32Array(memory.buffer, allocate(padded(count) * 4), count),
  };
}
