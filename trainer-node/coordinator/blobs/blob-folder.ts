import { createHash, randomUUID } from "node:crypto";
import { mkdirSync } from "node:fs";
import { type FileHandle, open, readFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { ParticipantProblem } from "../participants/participant-problem.ts";

/** Updates and models by the SHA-256 of their bytes. What is in here was whole when it got its name. */
export interface BlobFolder {
  readonly folder: string;
  /** Takes bytes in as they arrive, whatever their size; on disk before it resolves. */
  keep(chunks: AsyncIterable<Uint8Array>, digest?: Digest): Promise<{ sha256: string; bytes: number }>;
  keepBytes(bytes: Uint8Array): Promise<{ sha256: string; bytes: number }>;
  read(sha256: string): Promise<Buffer>;
  find(sha256: string): Promise<{ path: string; bytes: number } | undefined>;
}

/** Takes the SHA-256 of a file while it is written. */
export interface Digest {
  begin(path: string): void;
  /** The next bytes, which are in the file. */
  add(bytes: Uint8Array): void;
  end(): Promise<string>;
  /** Nobody waits for its end, or it has come. */
  drop(): void;
}

export function plainDigest(): Digest {
  const hash = createHash("sha256");
  return {
    begin: () => {},
    add: (bytes) => void hash.update(bytes),
    end: async () => hash.digest("hex"),
    drop: () => {},
  };
}

/** Given to the disk while the rest still arrives, so that little is left to wait for at the end. */
const FLUSH_BYTES = 4 * 1024 * 1024;

/** `durable: false`: a power cut may take what was kept, for whoever begins again from nothing anyhow. */
export function openBlobFolder({ folder, bytesMax, durable = true }: { folder: string; bytesMax: number; durable?: boolean }): BlobFolder {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const pathOf = (sha256: string): string => {
    if (!/^[0-9a-f]{64}$/.test(sha256)) throw new Error(`${sha256.slice(0, 80)} is not a SHA-256`);
    return join(folder, sha256);
  };
  const find: BlobFolder["find"] = async (sha256) => {
    const path = pathOf(sha256);
    const found = await stat(path).catch(() => undefined);
    return found && { path, bytes: found.size };
  };
  // One at a time: those who write share a few threads with those who wait for the disk.
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
    const partial = join(folder, `.partial-${randomUUID()}`);
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
        // The disk tells of a failure once only: it is thrown by the next who waits.
        await flushing;
        flushing = flush(file);
        flushing.catch(() => {});
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
