import { newId } from "../../../../common/ids.ts";
import type { Caller } from "../../../../proto/gen/tributary/access/v1/access.ts";
import { listAnswer, readPage } from "../../../schemas/object-list.ts";
import { listOf } from "../../../schemas/stored/assistant-answers.ts";
import {
  fileBatchObject,
  newFileBatch,
  type StoreFileObject,
  storeFileObject,
  storeFileQuery,
} from "../../../schemas/stored/vector-stores.ts";
import { ownerOf, requireRecord } from "../../../stored/records/own-record.ts";
import { addFiles } from "../../../stored/vector-stores/add-files.ts";
import { type FileBatchBody, secondsOf, shownBatch } from "../../../stored/vector-stores/objects.ts";
import { changeFiles, type FileChange, filesOf, requireStore } from "../../../stored/vector-stores/stored-files.ts";
import { type GatewayOperation, jsonOperation, twice } from "../gateway-operation.ts";
import { listStoreFiles } from "./list-store-files.ts";
import type { VectorStoresDeps } from "./vector-stores-deps.ts";

const PATH = "vector_stores/:vector_store_id/file_batches";

/** Files that are added to a vector store together. */
export function fileBatchOperations(deps: VectorStoresDeps): GatewayOperation[] {
  const shared = { tag: "Vector stores", bodyBytesMax: deps.bodyBytesMax, once: deps.once };
  const batchOf = (caller: Caller, param: (name: string) => string) =>
    requireRecord<FileBatchBody>(deps, caller, { kind: "vector_store_batch", id: param("batch_id"), parentId: param("vector_store_id") });
  return [
    jsonOperation({
      ...shared,
      method: "post",
      paths: twice(PATH),
      summary: "Add files to a vector store",
      body: newFileBatch,
      answer: fileBatchObject,
      handle: async ({ body, param, caller }) => {
        const { attributes, chunking_strategy: strategy } = body;
        const files = body.files ?? (body.file_ids ?? []).map((file) => ({ file_id: file, attributes, chunking_strategy: strategy }));
        const [nowMs, id, storeId] = [deps.clock.now(), newId("vsfb", deps), param("vector_store_id")];
        const fileIds = files.map(({ file_id: fileId }) => fileId);
        const batch: FileBatchBody = { id, created_at: secondsOf(nowMs), vector_store_id: storeId, fileIds };
        const write = { type: "create", kind: "vector_store_batch", id, parentId: storeId, body: batch, createdAtMs: nowMs } as const;
        const added = await addFiles(deps, { caller, storeId, files, batch: write });
        return shownBatch(
          batch,
          added.map(({ file }) => file),
        );
      },
    }),
    jsonOperation({
      ...shared,
      method: "get",
      paths: twice(`${PATH}/:batch_id`),
      summary: "Retrieve a file batch",
      answer: fileBatchObject,
      handle: async ({ param, caller }) => {
        const { id, body } = await batchOf(caller, param);
        return shownBatch(body, await filesOfBatch(deps, { caller, id, storeId: body.vector_store_id }));
      },
    }),
    jsonOperation({
      ...shared,
      method: "post",
      paths: twice(`${PATH}/:batch_id/cancel`),
      summary: "Cancel a file batch",
      answer: fileBatchObject,
      handle: async ({ param, caller }) => {
        const { id, body } = await batchOf(caller, param);
        await cancelFiles(deps, { caller, id, storeId: body.vector_store_id });
        return shownBatch(body, await filesOfBatch(deps, { caller, id, storeId: body.vector_store_id }));
      },
    }),
    jsonOperation({
      ...shared,
      method: "get",
      paths: twice(`${PATH}/:batch_id/files`),
      summary: "List the files of a file batch",
      query: storeFileQuery,
      answer: listOf(storeFileObject),
      handle: async ({ query, param, caller }) => {
        const { id: storeId } = await requireStore(deps, caller.teamId, param("vector_store_id"));
        const { id } = await batchOf(caller, param);
        const asked = { ...readPage(query), filter: query.filter };
        const { files, hasMore } = await listStoreFiles(deps, { teamId: caller.teamId, storeId, batchId: id }, asked);
        return listAnswer(files, hasMore);
      },
    }),
  ];
}

interface OfBatch {
  readonly caller: Caller;
  readonly id: string;
  readonly storeId: string;
}

async function filesOfBatch(deps: VectorStoresDeps, { caller, id, storeId }: OfBatch): Promise<StoreFileObject[]> {
  const files: StoreFileObject[] = [];
  for await (const { body } of filesOf(deps, { teamId: caller.teamId, storeId })) if (body.batchId === id) files.push(body.file);
  return files;
}

/** Files that are not indexed yet are not indexed any more. */
async function cancelFiles(deps: VectorStoresDeps, { caller, id, storeId }: OfBatch): Promise<void> {
  await changeFiles(deps, { owner: ownerOf(caller), storeId }, async () => {
    const changes: FileChange[] = [];
    for await (const record of filesOf(deps, { teamId: caller.teamId, storeId })) {
      const { file, batchId } = record.body;
      if (batchId !== id || file.status !== "in_progress") continue;
      const after: StoreFileObject = { ...file, status: "cancelled" };
      const put = { type: "put", kind: "vector_store_file", id: record.id, body: { ...record.body, file: after } } as const;
      changes.push({ before: file, after, write: { ...put, expectedRevision: record.revision, keepWork: true } });
    }
    return changes;
  });
}
