import { createHash } from "node:crypto";
import { mkdirSync, renameSync } from "node:fs";
import { type FileHandle, open, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { ignore, orElse } from "../../../common/ignore.ts";
import { uniqueName } from "../../../common/random.ts";
import {
  type Arrival,
  type BlobOwners,
  type MadeOrigin,
  type Origin,
  type OwnedBlob,
  openBlobOwners,
  ownsOnDisk,
  requireSame,
} from "../../blobs/blob-owners.ts";
import { ParticipantProblem } from "../participants/participant-problem.ts";
import { BlobsUnavailable } from "./copies/blob-copies.ts";
import { readBlob } from "./read-blob.ts";

/**
 * Stores updates and models under the SHA-256 of their bytes. A file gets its name when it is complete. The coordinator's own work reads all
 * blobs; what a tenant asks for is checked with `owners`.
 */
export interface BlobFolder {
  readonly folder: string;
  readonly owners: BlobOwners;
  /**
   * The same folder, where everything that is kept counts for a tenant and is refused beyond its limit; "" is the operator. The tenant may
   * read what is `made`, which is meant if nothing is given.
   */
  of(tenant: string, origin?: MadeOrigin): BlobFolder;
  /** Counts a blob for the tenant that was written by another thread. */
  made(sha256: string): Promise<void>;
  /** Stores bytes of any number as they arrive. They are on disk when the promise resolves. */
  keep(chunks: AsyncIterable<Uint8Array>, options?: KeepOptions): Promise<{ sha256: string; bytes: number }>;
  keepBytes(bytes: Uint8Array): Promise<{ sha256: string; bytes: number }>;
  /** Throws BlobsUnavailable if the blob is not here, and BlobTooLarge if it has more bytes than are read as a whole. */
  read(sha256: string): Promise<Buffer>;
  find(sha256: string): Promise<FoundBlob | undefined>;
  /** The blob if the tenant owns it. */
  findOwned(sha256: string): Promise<FoundBlob | undefined>;
  /**
   * Resolves when the blobs have the copies elsewhere that they need before a record may refer to them; at once if none are configured.
   * `isReferenced`: a record refers to them already.
   */
  copied(hashes: readonly string[], how: { isReferenced: boolean }, signal?: AbortSignal): Promise<void>;
  /** Removes the tenant's ownership of a blob that it uploaded. False if it has none. */
  drop(sha256: string): Promise<boolean>;
}

/** A blob in the folder. */
export interface FoundBlob {
  readonly path: string;
  readonly bytes: number;
}

/** How a blob is kept. */
export interface KeepOptions {
  readonly digest?: Digest;
  /** That of the folder if absent. */
  readonly origin?: Origin;
  /** Other bytes than those of this SHA-256 are refused. */
  readonly expected?: string;
  /** The announced size, which is reserved for the tenant before the first byte comes. */
  readonly bytes?: number | undefined;
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

/** Options of a blob folder. */
export interface BlobFolderOptions {
  readonly folder: string;
  /** Largest blob. */
  readonly bytesMax: number;
  /** Most bytes of one tenant's blobs; no limit if absent. */
  readonly bytesMaxPerTenant?: number;
  /** False: a power failure may lose stored blobs, which suits processes that start from nothing anyway. */
  readonly durable?: boolean;
}

/** Opens a blob folder. */
export function openBlobFolder(options: BlobFolderOptions): BlobFolder {
  const { folder, bytesMax, bytesMaxPerTenant = Number.POSITIVE_INFINITY, durable = true } = options;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const owners = openBlobOwners({ folder, bytesMaxPerTenant });
  const find: BlobFolder["find"] = async (sha256) => {
    const path = pathIn(folder, sha256);
    const found = await orElse(stat(path), undefined, "not here");
    return found && { path, bytes: found.size };
  };
  const keepFor = createKeep({ folder, bytesMax, durable, owners });
  const of = (tenant: string, origin: MadeOrigin = "made"): BlobFolder => ({
    folder,
    owners,
    of,
    find,
    made: async (sha256) => {
      const found = tenant === "" || sha256 === "" ? undefined : await find(sha256);
      if (found) owners.add(tenant, { digest: sha256, bytes: found.bytes, origin });
    },
    keep: (chunks, how = {}) => keepFor(tenant, chunks, { origin, ...how }),
    keepBytes: (bytes) => keepFor(tenant, once(bytes), { origin }),
    read: async (sha256) => readBlob(await requireBlob(find, sha256)),
    findOwned: async (sha256) => {
      const found = await find(sha256);
      return found && ownsOnDisk(folder, tenant, { digest: sha256, bytes: found.bytes }) ? found : undefined;
    },
    copied: async () => {},
    drop: async (sha256) => owners.drop(tenant, sha256),
  });
  return of("");
}

function pathIn(folder: string, sha256: string): string {
  if (!/^[0-9a-f]{64}$/.test(sha256)) throw new Error(`${sha256.slice(0, 80)} is not a SHA-256`);
  return join(folder, sha256);
}

type Keep = (tenant: string, chunks: AsyncIterable<Uint8Array>, how: KeepOptions) => Promise<{ sha256: string; bytes: number }>;

function createKeep(options: Required<Pick<BlobFolderOptions, "folder" | "bytesMax" | "durable">> & { owners: BlobOwners }): Keep {
  const { folder, bytesMax, durable, owners } = options;
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
  /** Before the blob has its name: a restart forgets owners without a blob, and a blob of a tenant never lacks its owner. */
  const note = (tenant: string, blob: OwnedBlob): void => {
    if (tenant !== "" || blob.origin === "stored") owners.add(tenant, blob);
  };
  return async (
    tenant: string,
    chunks: AsyncIterable<Uint8Array>,
    { digest = plainDigest(), origin = "made", expected, bytes: announced }: KeepOptions,
  ): Promise<{ sha256: string; bytes: number }> => {
    let arrival: Arrival | undefined;
    const partial = join(folder, `.partial-${uniqueName()}`);
    const file = await open(partial, "wx", 0o600);
    let bytes = 0;
    let flushed = 0;
    let flushing = Promise.resolve();
    try {
      digest.begin(partial);
      for await (const chunk of chunks) {
        bytes += chunk.byteLength;
        if (bytes > bytesMax) throw tooLarge(bytesMax);
        // Within the loop, so that a refusal ends the stream of the chunks.
        arrival ??= owners.arrive(tenant, announced);
        arrival.take(chunk.byteLength);
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
      requireSame(expected ?? sha256, sha256);
      arrival?.end();
      note(tenant, { digest: sha256, bytes, origin });
      renameSync(partial, pathIn(folder, sha256));
      return { sha256, bytes };
    } finally {
      arrival?.end();
      digest.drop();
      await file.close();
      await rm(partial, { force: true });
    }
  };
}

const tooLarge = (bytesMax: number): ParticipantProblem =>
  new ParticipantProblem(`it sent more than ${bytesMax} bytes (COORDINATOR_BLOB_BYTES_MAX)`, { again: false });

/** The blob that work cannot go on without. */
export async function requireBlob(find: BlobFolder["find"], sha256: string): Promise<FoundBlob> {
  const found = await find(sha256);
  if (!found) throw new BlobsUnavailable(`a coordinator that has the parameters ${sha256}`);
  return found;
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
