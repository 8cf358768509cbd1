import { createHash } from "node:crypto";
import { closeSync, fdatasyncSync, openSync, readSync, renameSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { uniqueName } from "../../common/random.ts";
import { planSafetensors } from "../codec/safetensors.ts";
import { ELEMENT_BYTES, type Tensor, type TensorHeader, tensorBytes } from "../compute/tensor.ts";

/** Writes a safetensors blob piece by piece. It gets its name when it is complete. */
export interface TensorWriter {
  /** Writes elements of one tensor, beginning at the index `start`. */
  write(piece: Tensor, start: number): void;
  /** Returns the SHA-256. With `keep`, the blob is on disk under that name; otherwise nothing is stored. */
  finish(options: { keep: boolean }): string;
  /** Removes an unfinished blob. */
  close(): void;
}

const HASH_STEP_BYTES = 2 ** 20;

/** Creates a writer for a blob with these tensors. */
export function createTensorWriter(folder: string, tensors: readonly TensorHeader[]): TensorWriter {
  const { head, places, bytes } = planSafetensors(tensors);
  const partial = join(folder, `.partial-${uniqueName()}`);
  const file = openSync(partial, "wx+", 0o600);
  let open = true;
  const put = (position: number, data: Uint8Array): void => {
    for (let done = 0; done < data.byteLength; ) done += writeSync(file, data, done, data.byteLength - done, position + done);
  };
  put(0, head);
  return {
    write: (piece, start) => put((places.get(piece.name) ?? 0) + start * ELEMENT_BYTES[piece.dtype], tensorBytes(piece)),
    finish: ({ keep }) => {
      if (keep) fdatasyncSync(file);
      const sha256 = hashOf(file, bytes);
      if (keep) renameSync(partial, join(folder, sha256));
      return sha256;
    },
    close: () => {
      if (open) closeSync(file);
      open = false;
      rmSync(partial, { force: true });
    },
  };
}

function hashOf(file: number, bytes: number): string {
  const hash = createHash("sha256");
  const step = new Uint8Array(Math.min(HASH_STEP_BYTES, bytes));
  for (let at = 0; at < bytes; ) {
    const read = readSync(file, step, 0, step.byteLength, at);
    if (read === 0) throw new Error("the blob is shorter than expected");
    hash.update(step.subarray(0, read));
    at += read;
  }
  return hash.digest("hex");
}
