import { createHash } from "node:crypto";
import { existsSync, renameSync, rmSync, statSync } from "node:fs";
import { type FileHandle, mkdir, open, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { orElse } from "../../common/ignore.ts";
import { uniqueName } from "../../common/random.ts";
import { TrainerError } from "../errors.ts";
import { adoptBlobs, openBlobOwners, requireSame, type StorageUse } from "./blob-owners.ts";

/**
 * Stores parameters under the SHA-256 of their bytes, in files that only this user can read. A tenant sees only blobs that it stored; the
 * operator (tenant "") sees all.
 */
export interface BlobStore {
  /** The path and size of a blob that the tenant owns; of any blob without a tenant. */
  find(digest: string, tenant?: string): Promise<{ path: string; bytes: number } | undefined>;
  /** Stores a blob. Refuses bytes that do not match the digest or exceed a limit, and leaves nothing of them. */
  put(digest: string, chunks: AsyncIterable<Buffer>, options?: PutOptions): Promise<"created" | "there">;
  /** Removes a tenant's ownership, and the bytes with the last owner; without a tenant, the blob. False if it is not the tenant's. */
  remove(digest: string, tenant?: string): boolean;
  /** The bytes that a tenant has here. */
  use(tenant: string): StorageUse;
}

/** Who stores a blob, and how large it is said to be. */
export interface PutOptions {
  readonly tenant?: string;
  /** If known, they are reserved before the first one comes. */
  readonly bytes?: number | undefined;
}

/** Options of a blob store. */
export interface BlobStoreOptions {
  readonly folder: string;
  /** Most bytes of all blobs. */
  readonly bytesMax: number;
  /** Most bytes of one tenant's blobs. */
  readonly bytesMaxPerTenant: number;
}

/** Creates a blob store in a folder. */
export function createBlobStore({ folder, bytesMax, bytesMaxPerTenant }: BlobStoreOptions): BlobStore {
  const pathOf = (digest: string): string => join(folder, digest);
  const owners = openBlobOwners({ folder, bytesMaxPerTenant });
  adoptBlobs(folder, owners, (digest) => statSync(pathOf(digest)).size);
  const find: BlobStore["find"] = async (digest, tenant = "") => {
    if (!owners.owns(tenant, digest)) return undefined;
    const found = await orElse(stat(pathOf(digest)), undefined, "not here");
    return found && { path: pathOf(digest), bytes: found.size };
  };
  /** Bytes of blobs that are arriving: two uploads must not both count on the same free space. */
  let arriving = 0;
  return {
    find,
    use: owners.use,
    remove: (digest, tenant = "") => {
      if (tenant === "") owners.forget(digest);
      else if (!owners.drop(tenant, digest)) return false;
      // Another tenant's upload of the same bytes becomes an owner in one step with its check that they are there.
      if (!owners.isOwned(digest)) rmSync(pathOf(digest), { force: true });
      return true;
    },
    put: async (digest, chunks, { tenant = "", bytes: announced } = {}) => {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const there = (await find(digest)) !== undefined;
      const isMine = there && owners.owns(tenant, digest) && tenant !== "";
      const held = await heldBytes(folder);
      const arrival = owners.arrive(isMine ? "" : tenant, announced);
      let mine = 0;
      const take = (bytes: number): void => {
        mine += bytes;
        arriving += bytes;
        arrival.take(bytes);
        if (!there && held + arriving > bytesMax) throw full(bytesMax, held + arriving);
      };
      const partial = join(folder, `.partial-${uniqueName()}`);
      let file: FileHandle | undefined;
      try {
        file = there ? undefined : await open(partial, "wx", 0o600);
        requireSame(digest, await receive(chunks, take, file));
        await file?.sync();
        arrival.end();
        if (there && !existsSync(pathOf(digest))) throw goneMeanwhile(digest);
        // The owner is noted before the blob has its name, so that no blob is without one.
        owners.add(tenant, { digest, bytes: mine, origin: "stored" });
        if (file) renameSync(partial, pathOf(digest));
        // Whether another tenant has the same bytes is not for this one to know.
        return isMine || (there && tenant === "") ? "there" : "created";
      } finally {
        arriving -= mine;
        arrival.end();
        await file?.close();
        await rm(partial, { force: true });
      }
    },
  };
}

/** Writes the chunks to the file, if there is one. Returns their SHA-256. */
async function receive(chunks: AsyncIterable<Buffer>, take: (bytes: number) => void, file: FileHandle | undefined): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of chunks) {
    hash.update(chunk);
    take(chunk.byteLength);
    await file?.write(chunk);
  }
  return hash.digest("hex");
}

function goneMeanwhile(digest: string): TrainerError {
  return new TrainerError("BUSY", `The blob sha256:${digest} was deleted while it was sent again. Send it once more.`, {
    retryAfterSeconds: 1,
  });
}

async function heldBytes(folder: string): Promise<number> {
  const names = (await readdir(folder)).filter((name) => !name.startsWith("."));
  const sizes = await Promise.all(
    names.map(async (name) => (await orElse(stat(join(folder, name)), undefined, "removed meanwhile"))?.size ?? 0),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

function full(limit: number, size: number): TrainerError {
  return new TrainerError(
    "PAYLOAD_TOO_LARGE",
    `The blobs of this node would have ${size} bytes; the limit is ${limit} (TRAINER_BLOB_BYTES_MAX). Delete some.`,
    {
      details: { limit_bytes: limit, size_bytes: size },
    },
  );
}
