import { AppError } from "../../../common/errors.ts";
import { newId } from "../../../common/ids.ts";
import type { Random } from "../../../common/random.ts";
import type { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import type { FileObject } from "../../schemas/stored/files.ts";
import type { NewStoreFile } from "../../schemas/stored/vector-stores.ts";
import { ownerOf, requireRecord } from "../records/own-record.ts";
import type { RecordWrite } from "../records/records.ts";
import type { Worker } from "../records/worker.ts";
import { newStoreFileBody, type StoreFileBody, storeFileId } from "./objects.ts";
import { changeFiles, FILES_MAX, type FileChange, type StoredDeps } from "./stored-files.ts";

export interface AddDeps extends StoredDeps {
  readonly random: Random;
  /** Indexes what was added. */
  readonly worker: Pick<Worker, "wake">;
}

/** Adds files to a store; the worker indexes them. A file that the store has already is indexed anew, which is paid anew. */
export async function addFiles(
  deps: AddDeps,
  {
    caller,
    storeId,
    files,
    batch,
  }: { caller: Caller; storeId: string; files: readonly NewStoreFile[]; batch?: RecordWrite & { id: string } },
): Promise<StoreFileBody[]> {
  const nowMs = deps.clock.now();
  const unique = [...new Map(files.map((file) => [file.file_id, file])).values()];
  const named = await Promise.all(
    unique.map(async (given) => {
      const { body } = await requireRecord<FileObject>(deps, caller, { kind: "file", id: given.file_id });
      const addition = newId("add", deps);
      return newStoreFileBody(given, { storeId, nowMs, filename: body.filename, batchId: batch?.id ?? null, addition });
    }),
  );
  const more = batch ? [batch] : [];
  await changeFiles(deps, { owner: ownerOf(caller), storeId, more }, async (store) => {
    const changes = await Promise.all(named.map((body) => changeOf(deps, caller, { body, nowMs })));
    const added = changes.filter(({ before }) => before === null).length;
    if (store.file_counts.total + added > FILES_MAX) {
      throw new AppError("INVALID_REQUEST", `A vector store has at most ${FILES_MAX} files. Use several stores.`, { param: "file_ids" });
    }
    return changes;
  });
  deps.worker.wake();
  return named;
}

async function changeOf(
  { records }: AddDeps,
  { teamId }: Caller,
  { body, nowMs }: { body: StoreFileBody; nowMs: number },
): Promise<FileChange> {
  const { file } = body;
  const id = storeFileId(file.vector_store_id, file.id);
  const known = await records.get<StoreFileBody>(teamId, "vector_store_file", id);
  const work = { kind: "vector_store_file", id, body, dueAtMs: nowMs } as const;
  const write: RecordWrite = known
    ? { type: "put", ...work, expectedRevision: known.revision }
    : { type: "create", ...work, parentId: file.vector_store_id, createdAtMs: nowMs };
  return { before: known?.body.file ?? null, after: file, write };
}
