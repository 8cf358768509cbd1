import type { KernelMemory } from "./kernel-memory.ts";
import type { Kernels } from "./kernels.ts";
import { createPlainKernels } from "./plain-kernels.ts";
import { createWasmKernels } from "./wasm-kernels.ts";

/**
 * WASM where the engine has SIMD, else plain: slower, same bytes. Over a memory that is given, their arrays lie above its top and are
 * good until more of it is reserved.
 */
export function createKernels(bytes: number, memory?: KernelMemory): Kernels {
  return createWasmKernels(bytes, memory) ?? createPlainKernels(bytes, memory);
}
