import type { Clock } from "../../../common/clock.ts";
import { AppError } from "../../../common/errors.ts";
import type { Page } from "../../schemas/object-list.ts";
import type { StoreFileObject, VectorStoreObject } from "../../schemas/stored/vector-stores.ts";
import type { Owner, RecordOf, RecordStore, RecordWrite } from "../records/records.ts";
import { writeAgainstChange } from "../records/write-against-change.ts";
import { activeAt, isExpired, type StoreFileBody, storeFileId, withFiles } from "./objects.ts";

export interface StoredDeps {
  readonly records: RecordStore;
  readonly clock: Clock;
}

const PAGE = 100;
/** A search reads every file of its store. */
export const FILES_MAX = 500;

/** The store, if it belongs to the team and has not expired. */
export async function requireStore({ records, clock }: StoredDeps, teamId: string, id: string): Promise<RecordOf<VectorStoreObject>> {
  const store = await records.get<VectorStoreObject>(teamId, "vector_store", id);
  if (!store) throw new AppError("NOT_FOUND", `No vector store found with id '${id.slice(0, 200)}'.`);
  if (isExpired(store.body, clock.now()))
    throw new AppError("INVALID_REQUEST", `The vector store ${id} has expired.`, { param: "vector_store_id" });
  return store;
}

export async function requireStoreFile({ records }: StoredDeps, teamId: string, ids: { storeId: string; fileId: string }) {
  const record = await records.get<StoreFileBody>(teamId, "vector_store_file", storeFileId(ids.storeId, ids.fileId));
  if (!record) throw new AppError("NOT_FOUND", `The vector store ${ids.storeId.slice(0, 200)} has no file '${ids.fileId.slice(0, 200)}'.`);
  return record;
}

/** The files of a store after one of them, or all; the oldest first unless `order` is desc. */
export async function* filesOf(
  { records }: Pick<StoredDeps, "records">,
  { teamId, storeId }: { teamId: string; storeId: string },
  { order = "asc", after: first }: Partial<Pick<Page, "order" | "after">> = {},
): AsyncGenerator<RecordOf<StoreFileBody>> {
  for (let after = first; ; ) {
    const page = await records.list<StoreFileBody>(teamId, "vector_store_file", { parentId: storeId, order, limit: PAGE, after });
    yield* page.records;
    if (!page.hasMore) return;
    after = page.records.at(-1)?.id;
  }
}

/** An expired store is shown for a week, then it is removed with its files. */
const EXPIRED_SHOWN_MS = 7 * 86_400_000;

/** The write of a changed store, or of a new one, with the time at which it is removed. */
export function storeWrite(body: VectorStoreObject, known?: Pick<RecordOf<VectorStoreObject>, "revision">): RecordWrite {
  const expiresAtMs = body.expires_at === null ? undefined : body.expires_at * 1000 + EXPIRED_SHOWN_MS;
  const record = { kind: "vector_store", id: body.id, body, expiresAtMs } as const;
  return known
    ? { type: "put", ...record, expectedRevision: known.revision }
    : { type: "create", ...record, createdAtMs: body.created_at * 1000 };
}

/** Notes that a store was used. Nothing is written for one that does not expire. */
export async function noteUse(deps: StoredDeps, owner: Owner, { id, expires_after: expiresAfter }: VectorStoreObject): Promise<void> {
  if (!expiresAfter) return;
  await writeAgainstChange(deps, owner, async () => {
    const store = await requireStore(deps, owner.teamId, id);
    return { writes: [storeWrite(activeAt(store.body, deps.clock.now()), store)], result: undefined };
  });
}

/** What happens to one file of a store, in the same commit as the store's counts. */
export interface FileChange {
  readonly before: StoreFileObject | null;
  readonly after: StoreFileObject | null;
  readonly write: RecordWrite;
}

/** Changes files of a store together with its counts. `decide` is called again when another writer was first. */
export async function changeFiles(
  deps: StoredDeps,
  { owner, storeId, more = [] }: { owner: Owner; storeId: string; more?: readonly RecordWrite[] },
  decide: (store: VectorStoreObject) => Promise<readonly FileChange[]>,
): Promise<void> {
  await writeAgainstChange(deps, owner, async () => {
    const store = await requireStore(deps, owner.teamId, storeId);
    const changes = await decide(store.body);
    const put = storeWrite(activeAt(withFiles(store.body, changes), deps.clock.now()), store);
    return { writes: [put, ...changes.map(({ write }) => write), ...more], result: undefined };
  });
}
