import type { KernelMemory } from "./kernel-memory.ts";
import type { Kernels } from "./kernels.ts";
import { createPlainKernels } from "./plain-kernels.ts";
import { createWasmKernels } from "./wasm-kernels.ts";

/**
 * Creates WASM kernels if the engine has SIMD, else plain ones, which are slower and give the same bytes. In a given memory, their arrays
 * lie above its top and are valid until more of it is reserved.
 */
export function createKernels(bytes: number, memory?: KernelMemory): Kernels {
  return createWasmKernels(bytes, memory) ?? createPlainKernels(bytes, memory);
}
