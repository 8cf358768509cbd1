import { createHash } from "node:crypto";
import { mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { orElse } from "../../common/ignore.ts";
import { uniqueName } from "../../common/random.ts";
import { TrainerError } from "../errors.ts";

/** Stores parameters under the SHA-256 of their bytes, in files that only this user can read. */
export interface BlobStore {
  /** The path and size of a stored blob. */
  find(digest: string): Promise<{ path: string; bytes: number } | undefined>;
  /** Stores a blob. Refuses bytes that do not match the digest, and leaves nothing of them. */
  put(digest: string, chunks: AsyncIterable<Buffer>, tenant?: string): Promise<"created" | "there">;
  remove(digest: string): Promise<void>;
  /** The tenant that stored the blob; undefined if the operator or several tenants did. */
  tenantOf(digest: string): Promise<string | undefined>;
}

/** Creates a blob store in a folder, with a limit on its bytes. */
export function createBlobStore(options: { folder: string; bytesMax: number }): BlobStore {
  const { folder, bytesMax } = options;
  const pathOf = (digest: string): string => join(folder, digest);
  const tenantPathOf = (digest: string): string => tenantPath(folder, digest);
  const tenantOf: BlobStore["tenantOf"] = (digest) => orElse(readFile(tenantPathOf(digest), "utf8"), undefined, "no note");
  /** The note is written before the blob, so that a blob without a note never belongs to one tenant alone. */
  const noteTenant = async (digest: string, tenant: string, there: boolean): Promise<void> => {
    if (!there && tenant !== "") await writeFile(tenantPathOf(digest), tenant, { mode: 0o600 });
    else if ((await tenantOf(digest)) !== tenant) await rm(tenantPathOf(digest), { force: true });
  };
  const find: BlobStore["find"] = async (digest) => {
    const found = await orElse(stat(pathOf(digest)), undefined, "not here");
    return found && { path: pathOf(digest), bytes: found.size };
  };
  /** Bytes of blobs that are arriving: two uploads must not both count on the same free space. */
  let arriving = 0;
  return {
    find,
    tenantOf,
    remove: async (digest) => {
      await rm(pathOf(digest), { force: true });
      await rm(tenantPathOf(digest), { force: true });
    },
    put: async (digest, chunks, tenant = "") => {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const there = (await find(digest)) !== undefined;
      const held = await heldBytes(folder);
      const partial = join(folder, `.partial-${uniqueName()}`);
      const hash = createHash("sha256");
      let mine = 0;
      const file = there ? undefined : await open(partial, "wx", 0o600);
      try {
        for await (const chunk of chunks) {
          hash.update(chunk);
          mine += chunk.byteLength;
          arriving += chunk.byteLength;
          if (!there && held + arriving > bytesMax) throw full(bytesMax, held + arriving);
          await file?.write(chunk);
        }
        const actual = hash.digest("hex");
        if (actual !== digest) {
          throw new TrainerError("VALIDATION_ERROR", "the SHA-256 of the body does not match the one in the path", {
            details: { expected: digest, actual },
          });
        }
        await noteTenant(digest, tenant, (await find(digest)) !== undefined);
        if (file) {
          await file.sync();
          await rename(partial, pathOf(digest));
        }
        return there ? "there" : "created";
      } finally {
        arriving -= mine;
        await file?.close();
        await rm(partial, { force: true });
      }
    },
  };
}

/** The file that names the tenant of a blob. */
export function tenantPath(folder: string, digest: string): string {
  return join(folder, `.tenant-${digest}`);
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
