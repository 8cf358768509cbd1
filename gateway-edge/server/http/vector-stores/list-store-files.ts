import { type Page, placeIn } from "../../../schemas/object-list.ts";
import type { StoreFileObject } from "../../../schemas/stored/vector-stores.ts";
import { filesOf, type StoredDeps } from "../../../stored/vector-stores/stored-files.ts";

/** A page of the files of a store, or of one of its batches. A store has few enough files to read all of them. */
export async function listStoreFiles(
  deps: Pick<StoredDeps, "records">,
  { teamId, storeId, batchId }: { teamId: string; storeId: string; batchId?: string },
  { order, after, before, limit, filter }: Page & { filter?: string | undefined },
): Promise<{ files: StoreFileObject[]; hasMore: boolean }> {
  const all: StoreFileObject[] = [];
  for await (const { body } of filesOf(deps, teamId, storeId)) {
    const isAsked = (!filter || body.file.status === filter) && (batchId === undefined || body.batchId === batchId);
    if (isAsked) all.push(body.file);
  }
  if (order === "desc") all.reverse();
  const first = after === undefined ? 0 : placeIn(all, after, { param: "after", what: "file" }) + 1;
  const end = before === undefined ? all.length : placeIn(all, before, { param: "before", what: "file" });
  const start = before === undefined ? first : Math.max(first, end - limit);
  const files = all.slice(start, Math.min(end, start + limit));
  return { files, hasMore: before === undefined ? first + limit < all.length : start > 0 };
}
