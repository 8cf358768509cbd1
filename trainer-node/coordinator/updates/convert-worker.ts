import { hash } from "node:crypto";
import { readFileSync } from "node:fs";
import { parentPort, workerData } from "node:worker_threads";
import { decodeParameters, encodeParameters } from "../../codec/parameters.ts";
import { asTrainerError, type ErrorKind } from "../../errors.ts";

/** What a conversion is given. */
export interface Conversion {
  readonly path: string;
  readonly format: "safetensors" | "npz";
}

/** And what comes out of it. */
export type Converted =
  | { readonly bytes: Uint8Array<ArrayBuffer>; readonly sha256: string }
  | { readonly problem: { readonly kind: ErrorKind; readonly message: string } };

// A thread of its own: reading and writing a whole model would keep every lease and participant waiting.
const { path, format } = workerData as Conversion;
try {
  const bytes = encodeParameters(decodeParameters(readFileSync(path)).tensors, format);
  const converted: Converted = { bytes, sha256: hash("sha256", bytes, "hex") };
  parentPort?.postMessage(converted, [bytes.buffer]);
} catch (thrown) {
  const { kind, message } = asTrainerError(thrown, "SERVER_ERROR");
  const refused: Converted = { problem: { kind, message } };
  parentPort?.postMessage(refused);
}
