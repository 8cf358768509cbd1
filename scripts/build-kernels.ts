/**
 * Compiles the trainer's kernels from WebAssembly text: `make generate`. The module becomes a constant of a TypeScript file, because the
 * compute folder imports nothing outside itself; the text stays beside it for readers.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import initializeWabt from "wabt";
import { KERNEL_SOURCE } from "../trainer-node/compute/kernels/wasm-source.ts";
import { moduleText } from "../trainer-node/compute/kernels/wat.ts";

const folder = resolve(import.meta.dirname, "../trainer-node/compute/kernels/gen");
const text = moduleText(KERNEL_SOURCE);
const wabt = await initializeWabt();
const module = wabt.parseWat("kernels.wat", text, { simd: true });
module.validate();
mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, "kernels.wat"), text);
const base64 = Buffer.from(module.toBinary({}).buffer).toString("base64");
writeFileSync(join(folder, "kernels-wasm.ts"), `export const KERNELS_WASM_BASE64 =\n  "${base64}";\n`);
