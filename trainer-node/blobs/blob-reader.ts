import { closeSync, fstatSync, openSync, readSync, statSync } from "node:fs";
import { join } from "node:path";
import { TrainerError } from "../errors.ts";
import { ownsOnDisk } from "./blob-owners.ts";

/** Reads whole blobs by their hash. One that is missing or not the tenant's is a BLOB_NOT_FOUND error that names it; "" reads all. */
export function blobReader(folder: string | undefined, tenant: string): (digest: string) => Uint8Array<ArrayBuffer> {
  return (digest) => {
    if (folder !== undefined && /^[0-9a-f]{64}$/.test(digest)) {
      try {
        const path = join(folder, digest);
        if (tenant === "" || ownsOnDisk(folder, tenant, { digest, bytes: statSync(path).size })) return wholeFile(path);
      } catch {
        // The blob is missing or another tenant's; the error below says the same of both.
      }
    }
    throw noBlob(digest);
  };
}

/** The error for a blob that is not there, or is another tenant's. */
export function noBlob(digest: string): TrainerError {
  return new TrainerError("BLOB_NOT_FOUND", `This node has no blob sha256:${digest}. PUT it to /v1/blobs/${digest} first.`, {
    details: { sha256: digest },
  });
}

/** Reads into a buffer of its own: Node's readFileSync may return a part of a shared pool. */
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
