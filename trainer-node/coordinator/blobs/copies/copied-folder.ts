import type { Logger } from "../../../../common/logger.ts";
import type { MadeOrigin } from "../../../blobs/blob-owners.ts";
import { type BlobFolder, type FoundBlob, requireBlob } from "../blob-folder.ts";
import { readBlob } from "../read-blob.ts";
import type { BlobCopies, WantedBlob } from "./blob-copies.ts";

/** The coordinator's own work, under a claim, may read everything that its federation refers to. */
const OPERATOR = "";

/**
 * A blob folder whose blobs have copies elsewhere: what is missing here is fetched from there, checked by its hash and kept, and what is
 * uploaded, or named by a record, is copied first.
 */
export function withCopies(folder: BlobFolder, { copies, logger }: { copies: BlobCopies; logger: Logger }): BlobFolder {
  const underWay = new Map<string, Promise<FoundBlob | undefined>>();
  const fetchCopy = async (reader: string, { sha256, tenant, origin }: FetchedBlob): Promise<FoundBlob | undefined> => {
    const failed = (thrown: unknown): void =>
      logger.warn({ blob: sha256, error: String(thrown) }, "a blob could not be fetched from another place");
    try {
      for await (const content of copies.open({ sha256, tenant: reader })) {
        const kept = await folder.of(tenant, origin).keep(content, { expected: sha256 }).catch(failed);
        if (!kept) continue;
        logger.info({ blob: sha256, bytes: kept.bytes }, "a blob was fetched from another place");
        return await folder.find(sha256);
      }
    } catch (thrown) {
      failed(thrown);
    }
    return undefined;
  };
  /** Concurrent readers share one transfer. */
  const fetchOnce = (reader: string, wanted: FetchedBlob): Promise<FoundBlob | undefined> => {
    const name = `${reader}\n${wanted.tenant}\n${wanted.origin}\n${wanted.sha256}`;
    const found = underWay.get(name) ?? fetchCopy(reader, wanted).finally(() => underWay.delete(name));
    underWay.set(name, found);
    return found;
  };
  const of = (tenant: string, given: MadeOrigin = "made"): BlobFolder => {
    const inner = folder.of(tenant, given);
    // A copy without an owner is read by coordinators only, those of an earlier release included.
    const owner = given === "hidden" ? OPERATOR : tenant;
    const find: BlobFolder["find"] = async (sha256) =>
      (await inner.find(sha256)) ?? (await fetchOnce(OPERATOR, { sha256, tenant, origin: given }));
    const copy = async (sha256: string, { origin, isReferenced }: CopyOptions, signal?: AbortSignal): Promise<void> => {
      const found = await inner.find(sha256);
      if (found) await copies.put({ sha256, tenant: origin === "made" ? owner : tenant, origin, isReferenced, ...found }, signal);
    };
    return {
      ...inner,
      of,
      find,
      findOwned: async (sha256) => (await inner.findOwned(sha256)) ?? (await fetchOnce(tenant, { sha256, tenant, origin: "made" })),
      read: async (sha256) => readBlob(await requireBlob(find, sha256)),
      keep: async (chunks, how = {}) => {
        const kept = await inner.keep(chunks, how);
        if (how.origin === "stored") await copy(kept.sha256, { origin: "stored", isReferenced: false });
        return kept;
      },
      copied: async (hashes, { isReferenced }, signal) => {
        for (const sha256 of hashes) await copy(sha256, { origin: "made", isReferenced }, signal);
      },
      drop: async (sha256) => {
        const isDropped = await inner.drop(sha256);
        return (await copies.drop({ sha256, tenant })) || isDropped;
      },
    };
  };
  return of("");
}

interface FetchedBlob extends WantedBlob {
  readonly origin: MadeOrigin;
}

interface CopyOptions {
  readonly origin: "stored" | "made";
  readonly isReferenced: boolean;
}
