import { AppError } from "../../../../common/errors.ts";
import { listAnswer, readPage } from "../../../schemas/object-list.ts";
import { deletedObject, listOf } from "../../../schemas/stored/assistant-answers.ts";
import { newStoreFile, storeFileChange, storeFileContent, storeFileObject, storeFileQuery } from "../../../schemas/stored/vector-stores.ts";
import { ownerOf } from "../../../stored/records/own-record.ts";
import { addFiles } from "../../../stored/vector-stores/add-files.ts";
import { decodeIndex } from "../../../stored/vector-stores/file-index.ts";
import { type StoreFileBody, storeFileId } from "../../../stored/vector-stores/objects.ts";
import { changeFiles, requireStore, requireStoreFile } from "../../../stored/vector-stores/stored-files.ts";
import { type GatewayOperation, jsonOperation, twice } from "../gateway-operation.ts";
import { listStoreFiles } from "./list-store-files.ts";
import type { VectorStoresDeps } from "./vector-stores-deps.ts";

/** The files of a vector store. */
export function storeFileOperations(deps: VectorStoresDeps): GatewayOperation[] {
  const shared = { tag: "Vector stores", bodyBytesMax: deps.bodyBytesMax, once: deps.once };
  const one = { ...shared, paths: twice("vector_stores/:vector_store_id/files/:file_id") };
  return [
    jsonOperation({
      ...shared,
      method: "post",
      paths: twice("vector_stores/:vector_store_id/files"),
      summary: "Add a file to a vector store",
      body: newStoreFile,
      answer: storeFileObject,
      handle: async ({ body, param, caller }) => {
        const [added] = await addFiles(deps, { caller, storeId: param("vector_store_id"), files: [body] });
        return added?.file;
      },
    }),
    jsonOperation({
      ...shared,
      method: "get",
      paths: twice("vector_stores/:vector_store_id/files"),
      summary: "List the files of a vector store",
      query: storeFileQuery,
      answer: listOf(storeFileObject),
      handle: async ({ query, param, caller }) => {
        const { id } = await requireStore(deps, caller.teamId, param("vector_store_id"));
        const page = readPage(query);
        const { files, hasMore } = await listStoreFiles(deps, { teamId: caller.teamId, storeId: id }, { ...page, filter: query.filter });
        return listAnswer(files, hasMore);
      },
    }),
    jsonOperation({
      ...one,
      method: "get",
      summary: "Retrieve a file of a vector store",
      answer: storeFileObject,
      handle: async ({ param, caller }) => (await requireStoreFile(deps, caller.teamId, idsOf(param))).body.file,
    }),
    jsonOperation({
      ...one,
      method: "post",
      summary: "Change the attributes of a file of a vector store",
      body: storeFileChange,
      keepNulls: true,
      answer: storeFileObject,
      handle: async ({ body, param, caller }) => {
        const ids = idsOf(param);
        let changed: StoreFileBody["file"] | undefined;
        await changeFiles(deps, { owner: ownerOf(caller), storeId: ids.storeId }, async () => {
          const { id, revision, body: known } = await requireStoreFile(deps, caller.teamId, ids);
          changed = { ...known.file, attributes: body.attributes ?? {} };
          const put = { type: "put", kind: "vector_store_file", id, body: { ...known, file: changed } } as const;
          return [{ before: known.file, after: changed, write: { ...put, expectedRevision: revision, keepWork: true } }];
        });
        return changed;
      },
    }),
    jsonOperation({
      ...one,
      method: "delete",
      summary: "Remove a file from a vector store",
      answer: deletedObject("vector_store.file.deleted"),
      handle: async ({ param, caller }) => {
        const ids = idsOf(param);
        await changeFiles(deps, { owner: ownerOf(caller), storeId: ids.storeId }, async () => {
          const { id, revision, body } = await requireStoreFile(deps, caller.teamId, ids);
          const write = { type: "remove", kind: "vector_store_file", id, expectedRevision: revision } as const;
          return [{ before: body.file, after: null, write }];
        });
        return { id: ids.fileId, object: "vector_store.file.deleted", deleted: true };
      },
    }),
    contentOperation(deps),
  ];
}

function contentOperation(deps: VectorStoresDeps): GatewayOperation {
  return jsonOperation({
    tag: "Vector stores",
    bodyBytesMax: deps.bodyBytesMax,
    method: "get",
    paths: twice("vector_stores/:vector_store_id/files/:file_id/content"),
    summary: "Retrieve the chunks of a file of a vector store",
    answer: storeFileContent,
    handle: async ({ param, caller }) => {
      const ids = idsOf(param);
      const { body } = await requireStoreFile(deps, caller.teamId, ids);
      if (body.file.status !== "completed") throw new AppError("INVALID_REQUEST", `The file is ${body.file.status.replace("_", " ")}.`);
      const content = await deps.records.getContent(caller.teamId, storeFileId(ids.storeId, ids.fileId));
      const texts = content ? decodeIndex(Buffer.concat(await Array.fromAsync(content))).texts : [];
      const data = texts.map((text) => ({ type: "text", text }));
      return { object: "vector_store.file_content.page", data, has_more: false, next_page: null };
    },
  });
}

const idsOf = (param: (name: string) => string) => ({ storeId: param("vector_store_id"), fileId: param("file_id") });
