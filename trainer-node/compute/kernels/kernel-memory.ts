const PAGE_BYTES = 65_536;
const ALIGNMENT = 16;
/** More at a time than is asked for: what is not touched costs nothing. */
const GROW_BYTES = 64 * 1024 * 1024;
/** All that 32-bit addresses reach. */
export const KERNEL_BYTES_MAX = 65_536 * PAGE_BYTES;

/**
 * Memory that kernels work on where it lies. Taken from below upwards; what is above `top` is anybody's until the next `reserve`. It may
 * move when it grows: arrays made over `buffer` before are empty then, addresses stay good.
 */
export interface KernelMemory {
  readonly memory: WebAssembly.Memory;
  readonly buffer: ArrayBuffer;
  /** The first free address, aligned for any element. */
  readonly top: number;
  /** Makes sure of the bytes up to an address without taking them. Throws RangeError where there is no such memory. */
  ensure(end: number): void;
  /** Takes bytes at the top and gives their address. */
  reserve(bytes: number): number;
  /** Everything from this address on is free again, and it may grow again. */
  release(address: number): void;
  /** Arrays over `buffer` are in somebody's hands: it may not grow, and so not move, until something is released. */
  hold(): void;
}

export function createKernelMemory({ bytes = 0, bytesMax = KERNEL_BYTES_MAX }: { bytes?: number; bytesMax?: number } = {}): KernelMemory {
  const pagesMax = Math.ceil(bytesMax / PAGE_BYTES);
  const memory = new WebAssembly.Memory({ initial: Math.min(pagesMax, Math.ceil(bytes / PAGE_BYTES)), maximum: pagesMax });
  let top = 0;
  let held = false;
  const ensure = (end: number): void => {
    const has = memory.buffer.byteLength;
    if (end <= has) return;
    if (held) throw new Error("the kernels' memory may not grow while results lie in it");
    if (end > pagesMax * PAGE_BYTES) throw new RangeError(`the kernels' memory of ${pagesMax * PAGE_BYTES} bytes is full`);
    memory.grow(Math.ceil((Math.min(pagesMax * PAGE_BYTES, Math.max(end, has + GROW_BYTES)) - has) / PAGE_BYTES));
  };
  return {
    memory,
    get buffer() {
      return memory.buffer;
    },
    get top() {
      return top;
    },
    ensure,
    reserve: (size) => {
      const at = top;
      ensure(at + size);
      top = Math.ceil((at + size) / ALIGNMENT) * ALIGNMENT;
      return at;
    },
    release: (address) => {
      top = address;
      held = false;
    },
    hold: () => {
      held = true;
    },
  };
}
