import { AppError } from "../../../../common/errors.ts";
import type { Page } from "../../../schemas/object-list.ts";
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
  const first = after === undefined ? 0 : placeOf(all, after, "after") + 1;
  const end = before === undefined ? all.length : placeOf(all, before, "before");
  const start = before === undefined ? first : Math.max(first, end - limit);
  const files = all.slice(start, Math.min(end, start + limit));
  return { files, hasMore: before === undefined ? first + limit < all.length : start > 0 };
}

function placeOf(files: readonly StoreFileObject[], id: string, param: "after" | "before"): number {
  const place = files.findIndex((file) => file.id === id);
  if (place < 0) throw new AppError("INVALID_REQUEST", `${param}: there is no file '${id.slice(0, 200)}' in this list`, { param });
  return place;
}
