import { readFileSync } from "node:fs";
import { join } from "node:path";
import { TrainerError } from "../errors.ts";

/** Reads whole blobs by their hash; what is not there is a 404 by name. */
export function blobReader(folder: string | undefined): (digest: string) => Uint8Array<ArrayBuffer> {
  return (digest) => {
    if (folder !== undefined && /^[0-9a-f]{64}$/.test(digest)) {
      try {
        return Uint8Array.from(readFileSync(join(folder, digest)));
      } catch {
        // Not there; answered below.
      }
    }
    throw new TrainerError("BLOB_NOT_FOUND", `There is no blob sha256:${digest} here; PUT it to /v1/blobs first.`, {
      details: { sha256: digest },
    });
  };
}
