import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ObjectFile, ObjectStore } from "../../../../common/objects/object-store.ts";
import { ownerName } from "../../../blobs/blob-owners.ts";
import type { SweptPlace } from "../sweep-blobs.ts";
import { type BlobCopies, BlobsUnavailable } from "./blob-copies.ts";

const BLOBS = "blobs/";
const OWNERS = "owners/";

/**
 * Copies in storage that all coordinators share: `blobs/{sha256}`, and the owners beside them as empty objects
 * `owners/{sha256}/{tenant}.{origin}`, so that every coordinator knows who may read a blob.
 */
export function createSharedCopies({ objects, folder }: { objects: ObjectStore; folder: string }): BlobCopies {
  const mark = emptyFile(folder);
  const ownedBy = async (sha256: string, tenant: string): Promise<boolean> => {
    for (const origin of ["stored", "made"]) if ((await objects.size(ownerKey(sha256, tenant, origin))) !== undefined) return true;
    return false;
  };
  return {
    put: async ({ sha256, tenant, path, bytes, origin, isReferenced }, signal) => {
      try {
        if (isReferenced && (await objects.size(BLOBS + sha256, signal)) === bytes) return;
        // The owner first: a blob of a tenant never lacks its owner.
        await objects.put(ownerKey(sha256, tenant, origin), mark, signal);
        await objects.put(BLOBS + sha256, { path, bytes, sha256 }, signal);
      } catch (cause) {
        signal?.throwIfAborted();
        throw new BlobsUnavailable("the storage of parameters, which cannot be written", { cause });
      }
    },
    open: async function* ({ sha256, tenant }) {
      if (tenant !== "" && !(await ownedBy(sha256, tenant))) return;
      const content = await objects.open(BLOBS + sha256);
      if (content) yield content;
    },
    drop: async ({ sha256, tenant }) => {
      const key = ownerKey(sha256, tenant, "stored");
      if ((await objects.size(key)) === undefined) return false;
      await objects.remove(key);
      return true;
    },
  };
}

/** The shared storage as a place that is swept. All coordinators may sweep it at the same time. */
export function sharedPlace(objects: ObjectStore): SweptPlace {
  const isStored = async (sha256: string): Promise<boolean> => {
    for await (const { key } of objects.list(`${OWNERS}${sha256}/`)) if (key.endsWith(".stored")) return true;
    return false;
  };
  return {
    olderThan: async (cutMs) => {
      const old = new Set<string>();
      for await (const { key, modifiedMs } of objects.list(BLOBS)) if (modifiedMs <= cutMs) old.add(key.slice(BLOBS.length));
      return old;
    },
    remove: async (sha256, cutMs) => {
      if (await isStored(sha256)) return false;
      for await (const { modifiedMs } of objects.list(BLOBS + sha256)) if (modifiedMs > cutMs) return false;
      await objects.remove(BLOBS + sha256);
      for await (const { key } of objects.list(`${OWNERS}${sha256}/`)) await objects.remove(key);
      return true;
    },
  };
}

const ownerKey = (sha256: string, tenant: string, origin: string): string => `${OWNERS}${sha256}/${ownerName(tenant)}.${origin}`;

function emptyFile(folder: string): ObjectFile {
  const path = join(folder, ".empty");
  writeFileSync(path, "", { mode: 0o600 });
  return { path, bytes: 0, sha256: createHash("sha256").digest("hex") };
}
