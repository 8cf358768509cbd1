import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import { TrainerError } from "../errors.ts";

/** Reads whole blobs by their hash; what is not there is a 404 by name. */
export function blobReader(folder: string | undefined): (digest: string) => Uint8Array<ArrayBuffer> {
  return (digest) => {
    if (folder !== undefined && /^[0-9a-f]{64}$/.test(digest)) {
      try {
        return wholeFile(join(folder, digest));
      } catch {
        // Not there; answered below.
      }
    }
    throw new TrainerError("BLOB_NOT_FOUND", `There is no blob sha256:${digest} here; PUT it to /v1/blobs first.`, {
      details: { sha256: digest },
    });
  };
}

/** In memory of its own and once: Node's readFileSync may hand out a part of memory that others share. */
function wholeFile(path: string): Uint8Array<ArrayBuffer> {
  const file = openSync(path, "r");
  try {
    const bytes = new Uint8Array(fstatSync(file).size);
    for (let done = 0; done < bytes.byteLength; ) {
      const read = readSync(file, bytes, done, bytes.byteLength - done, done);
      if (read === 0) throw new Error("the blob became shorter");
      done += read;
    }
    return bytes;
  } finally {
    closeSync(file);
  }
}
