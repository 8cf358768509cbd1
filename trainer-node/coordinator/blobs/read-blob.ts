import { readFile } from "node:fs/promises";
import { TrainerError } from "../../errors.ts";

/** Node reads no larger file at once. */
const READ_BYTES_MAX = 2 ** 31 - 1;

/** A blob is too large to be in memory as a whole. Safetensors need not be for most work: they are read in pieces. */
export class BlobTooLarge extends TrainerError {
  constructor(bytes: number) {
    const why = "formats other than safetensors are read like that, and so is what some strategies compute with";
    super("PAYLOAD_TOO_LARGE", `The parameters have ${bytes} bytes, and at most ${READ_BYTES_MAX} can be read as a whole: ${why}.`, {
      details: { size_bytes: bytes, limit_bytes: READ_BYTES_MAX },
    });
  }
}

/** Reads a stored blob as a whole. */
export async function readBlob({ path, bytes }: { readonly path: string; readonly bytes: number }): Promise<Buffer> {
  if (!isWhole(bytes)) throw new BlobTooLarge(bytes);
  return readFile(path);
}

/** Whether so many bytes are read as a whole. */
export const isWhole = (bytes: number): boolean => bytes <= READ_BYTES_MAX;
