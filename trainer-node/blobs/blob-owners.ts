import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { TrainerError } from "../errors.ts";

/**
 * The owners of the blobs in a folder, and the bytes that each tenant has there. Tenants that own the same blob share its bytes, which count
 * for each of them. An owner is an empty file beside the blobs, so that it survives a restart: `.owners/{tenant}/{sha256}.{bytes}.{origin}`.
 */
export interface BlobOwners {
  /** Whether the tenant may read the blob. The operator ("") may read every blob. */
  owns(tenant: string, digest: string): boolean;
  /** Whether the blob has an owner, of one origin or of any. */
  isOwned(digest: string, origin?: Origin): boolean;
  use(tenant: string): StorageUse;
  /** Reserves the bytes that are announced to arrive for a tenant. Throws StorageFull if its limit would be exceeded. */
  arrive(tenant: string, announced?: number): Arrival;
  /** Makes the tenant an owner, without regard to its limit. */
  add(tenant: string, blob: OwnedBlob): void;
  /** Removes the ownership of a blob that the tenant stored. False if it did not. */
  drop(tenant: string, digest: string): boolean;
  /** Removes all owners of a blob whose bytes are gone. */
  forget(digest: string): void;
}

/** Of what federations store, which is removed when nothing refers to it any more. `hidden` counts for the tenant, which may not read it. */
export type MadeOrigin = "made" | "hidden";
/** `stored`: the tenant uploaded it. */
export type Origin = "stored" | MadeOrigin;

export interface OwnedBlob {
  readonly digest: string;
  readonly bytes: number;
  readonly origin: Origin;
}

export interface StorageUse {
  readonly used: number;
  readonly limit: number;
}

/** Bytes of one blob on its way. They are reserved before they are written, so that concurrent uploads cannot pass the limit together. */
export interface Arrival {
  /** Takes bytes that have come, and reserves them if they were not announced. Throws StorageFull. */
  take(bytes: number): void;
  /** Gives the reserved bytes back. */
  end(): void;
}

/** The tenant's blobs would exceed its limit. */
export class StorageFull extends TrainerError {
  constructor({ used, limit }: StorageUse) {
    super(
      "PAYLOAD_TOO_LARGE",
      `Your organization has ${used} bytes of blobs here, and this one would exceed the limit of ${limit} (BLOBS_BYTES_MAX_PER_ORGANIZATION). Delete blobs that you do not need, or ask the operator for more.`,
      { details: { used_bytes: used, limit_bytes: limit } },
    );
  }
}

type Entry = { bytes: number; readonly origins: Set<Origin> };
type Account = { readonly blobs: Map<string, Entry>; used: number; arriving: number };

const OWNERS = ".owners";
const OPERATOR = "operator";
const MARK = /^([0-9a-f]{64})\.(\d+)\.(stored|made|hidden)$/;
const BLOB = /^[0-9a-f]{64}$/;
const READABLE: readonly Origin[] = ["stored", "made"];
/** How releases before this one noted the only tenant that had stored a blob. */
const OLD_NOTE = /^\.tenant-([0-9a-f]{64})$/;

/** Opens the owners of a folder. Files are read and written synchronously, so that a check and the change after it are one step. */
export function openBlobOwners({ folder, bytesMaxPerTenant }: { folder: string; bytesMaxPerTenant: number }): BlobOwners {
  const accounts = new Map<string, Account>();
  const accountOf = (name: string): Account => {
    const found = accounts.get(name) ?? { blobs: new Map(), used: 0, arriving: 0 };
    accounts.set(name, found);
    return found;
  };
  const pathOf = (name: string, { digest, bytes, origin }: OwnedBlob): string => join(folder, OWNERS, name, `${digest}.${bytes}.${origin}`);
  const count = (name: string, { digest, bytes, origin }: OwnedBlob): void => {
    const account = accountOf(name);
    const entry = account.blobs.get(digest);
    if (entry) entry.origins.add(origin);
    else account.blobs.set(digest, { bytes, origins: new Set([origin]) });
    if (!entry) account.used += bytes;
  };
  const remove = (name: string, blob: OwnedBlob): void => {
    const account = accountOf(name);
    const entry = account.blobs.get(blob.digest);
    if (!entry?.origins.delete(blob.origin)) return;
    rmSync(pathOf(name, { ...blob, bytes: entry.bytes }), { force: true });
    if (entry.origins.size > 0) return;
    account.blobs.delete(blob.digest);
    account.used -= entry.bytes;
  };
  const addNamed = (name: string, blob: OwnedBlob): void => {
    if (accounts.get(name)?.blobs.get(blob.digest)?.origins.has(blob.origin)) return;
    mkdirSync(join(folder, OWNERS, name), { recursive: true, mode: 0o700 });
    writeFileSync(pathOf(name, blob), "", { mode: 0o600 });
    count(name, blob);
  };
  const limitOf = (tenant: string): number => (tenant === "" ? Number.POSITIVE_INFINITY : bytesMaxPerTenant);
  load(folder, count);
  return {
    owns: (tenant, digest) => tenant === "" || isReadable(accounts.get(ownerName(tenant))?.blobs.get(digest)),
    isOwned: (digest, origin) =>
      [...accounts.values()].some(({ blobs }) => {
        const entry = blobs.get(digest);
        return entry !== undefined && (origin === undefined || entry.origins.has(origin));
      }),
    use: (tenant) => ({ used: accounts.get(ownerName(tenant))?.used ?? 0, limit: limitOf(tenant) }),
    arrive: (tenant, announced = 0) => {
      const account = accountOf(ownerName(tenant));
      const limit = limitOf(tenant);
      let [reserved, taken] = [0, 0];
      const reserve = (bytes: number): void => {
        if (account.used + account.arriving + bytes > limit) throw new StorageFull({ used: account.used, limit });
        account.arriving += bytes;
        reserved += bytes;
      };
      reserve(announced);
      return {
        take: (bytes) => {
          taken += bytes;
          if (taken > reserved) reserve(taken - reserved);
        },
        end: () => {
          account.arriving -= reserved;
          reserved = 0;
        },
      };
    },
    add: (tenant, blob) => addNamed(ownerName(tenant), blob),
    drop: (tenant, digest) => {
      const name = ownerName(tenant);
      const entry = accounts.get(name)?.blobs.get(digest);
      if (!entry?.origins.has("stored")) return false;
      remove(name, { digest, bytes: entry.bytes, origin: "stored" });
      return true;
    },
    forget: (digest) => {
      for (const [name, { blobs }] of accounts) {
        const entry = blobs.get(digest);
        for (const origin of [...(entry?.origins ?? [])]) remove(name, { digest, bytes: entry?.bytes ?? 0, origin });
      }
    },
  };
}

const isReadable = (entry: Entry | undefined): boolean => entry !== undefined && READABLE.some((origin) => entry.origins.has(origin));

/** Whether a tenant may read a blob of this size, read from the disk: for threads, which do not share the memory of the owners. */
export function ownsOnDisk(folder: string, tenant: string, { digest, bytes }: { digest: string; bytes: number }): boolean {
  const path = (origin: Origin): string => join(folder, OWNERS, ownerName(tenant), `${digest}.${bytes}.${origin}`);
  return tenant === "" || READABLE.some((origin) => existsSync(path(origin)));
}

/**
 * Gives the blobs of earlier releases an owner: the tenant of their note, else the operator, because it is not known who stored them. A
 * tenant becomes an owner of such a blob by storing its bytes again.
 */
export function adoptBlobs(folder: string, owners: BlobOwners, sizeOf: (digest: string) => number): void {
  for (const name of namesIn(folder)) {
    const [, noted] = OLD_NOTE.exec(name) ?? [];
    if (noted === undefined) continue;
    if (existsSync(join(folder, noted)))
      owners.add(readFileSync(join(folder, name), "utf8"), { digest: noted, bytes: sizeOf(noted), origin: "stored" });
    rmSync(join(folder, name), { force: true });
  }
  for (const digest of namesIn(folder)) {
    if (BLOB.test(digest) && !owners.isOwned(digest)) owners.add("", { digest, bytes: sizeOf(digest), origin: "stored" });
  }
}

/** Reads all owners. An owner of a blob that is not there is removed: the process ended before the blob had its name. */
function load(folder: string, count: (name: string, blob: OwnedBlob) => void): void {
  const present = new Set(namesIn(folder));
  if (!present.has(OWNERS)) return;
  for (const name of namesIn(join(folder, OWNERS))) {
    for (const mark of namesIn(join(folder, OWNERS, name))) {
      const [, digest = "", bytes, origin] = MARK.exec(mark) ?? [];
      if (present.has(digest)) count(name, { digest, bytes: Number(bytes), origin: origin as Origin });
      else rmSync(join(folder, OWNERS, name, mark), { force: true });
    }
  }
}

function namesIn(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder) : [];
}

/** The name of a tenant's folder. A tenant is a header of the gateway, but nothing else may become a path. */
export function ownerName(tenant: string): string {
  if (tenant === "") return OPERATOR;
  return /^[A-Za-z0-9_-]{1,100}$/.test(tenant) ? `t-${tenant}` : `h-${createHash("sha256").update(tenant).digest("hex")}`;
}

/** Refuses bytes that do not have the SHA-256 of their name. */
export function requireSame(expected: string, actual: string): void {
  if (actual === expected) return;
  throw new TrainerError("VALIDATION_ERROR", "the SHA-256 of the body does not match the one in the path", {
    details: { expected, actual },
  });
}
