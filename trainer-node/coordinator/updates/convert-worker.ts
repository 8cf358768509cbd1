import { hash } from "node:crypto";
import { readFileSync } from "node:fs";
import { parentPort, workerData } from "node:worker_threads";
import { decodeParameters, encodeParameters } from "../../codec/parameters.ts";
import { asTrainerError, type ErrorKind } from "../../errors.ts";

/** The input of a conversion. */
export interface Conversion {
  readonly path: string;
  readonly format: "safetensors" | "npz";
}

/** The output of a conversion. */
export type Converted =
  | { readonly bytes: Uint8Array<ArrayBuffer>; readonly sha256: string }
  | { readonly problem: { readonly kind: ErrorKind; readonly message: string } };

// This runs in a thread of its own, because converting a whole model would delay every lease and participant.
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
