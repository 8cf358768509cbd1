import type { Page } from "../../../schemas/object-list.ts";
import type { StoreFileObject } from "../../../schemas/stored/vector-stores.ts";
import { storeFileId } from "../../../stored/vector-stores/objects.ts";
import { filesOf, type StoredDeps } from "../../../stored/vector-stores/stored-files.ts";

/** A page of the files of a store, or of one of its batches. A store has few enough files to read all of them. */
export async function listStoreFiles(
  deps: Pick<StoredDeps, "records">,
  { teamId, storeId, batchId }: { teamId: string; storeId: string; batchId?: string },
  { order, after, before, limit, filter }: Page & { filter?: string | undefined },
): Promise<{ files: StoreFileObject[]; hasMore: boolean }> {
  const files: StoreFileObject[] = [];
  // A page that ends at a file is read backward from it.
  const isBackwards = before !== undefined;
  const isAscending = (order === "asc") !== isBackwards;
  const cursor = before ?? after;
  const asked = { order: isAscending ? "asc" : "desc", after: cursor === undefined ? undefined : storeFileId(storeId, cursor) } as const;
  for await (const { body } of filesOf(deps, { teamId, storeId }, asked)) {
    if ((filter && body.file.status !== filter) || (batchId !== undefined && body.batchId !== batchId)) continue;
    if (files.length === limit) return { files: isBackwards ? files.reverse() : files, hasMore: true };
    files.push(body.file);
  }
  return { files: isBackwards ? files.reverse() : files, hasMore: false };
}
