import type { Kernels } from "./kernels.ts";
import { createPlainKernels } from "./plain-kernels.ts";
import { createWasmKernels } from "./wasm-kernels.ts";

/** WASM where the engine has SIMD, else plain: slower, same bytes. */
export function createKernels(bytes: number): Kernels {
  return createWasmKernels(bytes) ?? createPlainKernels(bytes);
}
