import { createHash } from "node:crypto";
import { mkdirSync } from "node:fs";
import { type FileHandle, open, readFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { ignore, orElse } from "../../../common/ignore.ts";
import { uniqueName } from "../../../common/random.ts";
import { ParticipantProblem } from "../participants/participant-problem.ts";

/** Stores updates and models under the SHA-256 of their bytes. A file gets its name when it is complete. */
export interface BlobFolder {
  readonly folder: string;
  /** Stores bytes of any number as they arrive. They are on disk when the promise resolves. */
  keep(chunks: AsyncIterable<Uint8Array>, digest?: Digest): Promise<{ sha256: string; bytes: number }>;
  keepBytes(bytes: Uint8Array): Promise<{ sha256: string; bytes: number }>;
  read(sha256: string): Promise<Buffer>;
  find(sha256: string): Promise<{ path: string; bytes: number } | undefined>;
}

/** Computes the SHA-256 of a file while it is written. */
export interface Digest {
  begin(path: string): void;
  /** Takes the next bytes, which are already in the file. */
  add(bytes: Uint8Array): void;
  end(): Promise<string>;
  /** Releases the digest: its result is not needed, or was read. */
  drop(): void;
}

/** A digest that hashes in this thread. */
export function plainDigest(): Digest {
  const hash = createHash("sha256");
  return {
    begin: () => {},
    add: (bytes) => void hash.update(bytes),
    end: async () => hash.digest("hex"),
    drop: () => {},
  };
}

/** Data is flushed to disk while the rest arrives, so that little is left to wait for at the end. */
const FLUSH_BYTES = 4 * 1024 * 1024;

/**
 * Opens a blob folder. With `durable: false`, a power failure may lose stored blobs; this suits processes that start from nothing anyway.
 */
export function openBlobFolder({ folder, bytesMax, durable = true }: { folder: string; bytesMax: number; durable?: boolean }): BlobFolder {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const pathOf = (sha256: string): string => {
    if (!/^[0-9a-f]{64}$/.test(sha256)) throw new Error(`${sha256.slice(0, 80)} is not a SHA-256`);
    return join(folder, sha256);
  };
  const find: BlobFolder["find"] = async (sha256) => {
    const path = pathOf(sha256);
    const found = await orElse(stat(path), undefined, "not here");
    return found && { path, bytes: found.size };
  };
  // One flush at a time: writes and flushes share a few threads.
  let isFlushing = false;
  const flush = async (file: FileHandle): Promise<void> => {
    isFlushing = true;
    try {
      await file.datasync();
    } finally {
      isFlushing = false;
    }
  };
  const keep: BlobFolder["keep"] = async (chunks, digest = plainDigest()) => {
    const partial = join(folder, `.partial-${uniqueName()}`);
    const file = await open(partial, "wx", 0o600);
    let bytes = 0;
    let flushed = 0;
    let flushing = Promise.resolve();
    try {
      digest.begin(partial);
      for await (const chunk of chunks) {
        bytes += chunk.byteLength;
        if (bytes > bytesMax) throw new ParticipantProblem(`it sent more than ${bytesMax} bytes`, { again: false });
        await file.write(chunk);
        digest.add(chunk);
        if (!durable || isFlushing || bytes - flushed < FLUSH_BYTES) continue;
        // The disk reports a failure once only, so the next waiter throws it.
        await flushing;
        flushing = flush(file);
        void ignore(flushing, "the next flush awaits it");
        flushed = bytes;
      }
      await flushing;
      const [sha256] = await Promise.all([digest.end(), durable ? file.datasync() : undefined]);
      await rename(partial, pathOf(sha256));
      return { sha256, bytes };
    } finally {
      digest.drop();
      await file.close();
      await rm(partial, { force: true });
    }
  };
  return {
    folder,
    find,
    keep,
    keepBytes: (bytes) => keep(once(bytes)),
    read: (sha256) => readFile(pathOf(sha256)),
  };
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
