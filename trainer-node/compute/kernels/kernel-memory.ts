const PAGE_BYTES = 65_536;
const ALIGNMENT = 16;
/** Memory grows by at least this much: untouched pages cost nothing. */
const GROW_BYTES = 64 * 1024 * 1024;
/** The whole 32-bit address space. */
export const KERNEL_BYTES_MAX = 65_536 * PAGE_BYTES;

/**
 * Memory that kernels work on in place, allocated upwards. Memory above `top` is free to use until the next `reserve`. Growing may move it:
 * arrays over the old `buffer` are then empty, addresses stay valid.
 */
export interface KernelMemory {
  readonly memory: WebAssembly.Memory;
  readonly buffer: ArrayBuffer;
  /** The first free address, aligned for any element. */
  readonly top: number;
  /** Makes the bytes up to an address available without reserving them. Throws RangeError if there is not enough memory. */
  ensure(end: number): void;
  /** Reserves bytes at the top and returns their address. */
  reserve(bytes: number): number;
  /** Frees everything above this address, and allows growing again. */
  release(address: number): void;
  /** Forbids growing, and so moving, until something is released, because arrays over `buffer` are in use. */
  hold(): void;
}

/** Creates a memory. */
export function createKernelMemory({ bytes = 0, bytesMax = KERNEL_BYTES_MAX }: { bytes?: number; bytesMax?: number } = {}): KernelMemory {
  const pagesMax = Math.ceil(bytesMax / PAGE_BYTES);
  const memory = new WebAssembly.Memory({ initial: Math.min(pagesMax, Math.ceil(bytes / PAGE_BYTES)), maximum: pagesMax });
  let top = 0;
  let held = false;
  const ensure = (end: number): void => {
    const has = memory.buffer.byteLength;
    if (end <= has) return;
    if (held) throw new Error("the kernels' memory cannot grow while results are in it");
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
