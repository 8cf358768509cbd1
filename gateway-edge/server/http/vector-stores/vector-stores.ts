import type { z } from "zod";
import { listAnswer, listQuery, readPage } from "../../../schemas/object-list.ts";
import type { OperationDescription } from "../../../schemas/operation-description.ts";
import { deletedObject, listOf } from "../../../schemas/stored/assistant-answers.ts";
import {
  newVectorStore,
  searchAnswer,
  storeSearch,
  type VectorStoreObject,
  vectorStoreChange,
  vectorStoreObject,
} from "../../../schemas/stored/vector-stores.ts";
import { ownerOf, requireRecord } from "../../../stored/records/own-record.ts";
import { writeAgainstChange } from "../../../stored/records/write-against-change.ts";
import { createStore } from "../../../stored/vector-stores/create-store.ts";
import { activeAt, shownStore } from "../../../stored/vector-stores/objects.ts";
import { searchStore } from "../../../stored/vector-stores/search.ts";
import { noteUse, requireStore, storeWrite } from "../../../stored/vector-stores/stored-files.ts";
import { describeGatewayOperations, type GatewayOperation, jsonOperation, twice } from "../gateway-operation.ts";
import { fileBatchOperations } from "./file-batches.ts";
import { storeFileOperations } from "./store-files.ts";
import type { VectorStoresDeps } from "./vector-stores-deps.ts";

const RESULTS_DEFAULT = 10;

/** Vector stores: files of a team that are searched by meaning, with vectors of any embedding model of the gateway. */
export function vectorStoresOperations(deps: VectorStoresDeps): GatewayOperation[] {
  return [...storeOperations(deps), ...fileBatchOperations(deps), ...storeFileOperations(deps)];
}

/** The operations for /openapi.json and /docs; their handlers are not called. */
export function describeVectorStores(): OperationDescription[] {
  return describeGatewayOperations(vectorStoresOperations({ bodyBytesMax: 0 } as VectorStoresDeps));
}

function storeOperations(deps: VectorStoresDeps): GatewayOperation[] {
  const { bodyBytesMax, once, records } = deps;
  const shared = { tag: "Vector stores", bodyBytesMax, once };
  const one = { ...shared, paths: twice("vector_stores/:vector_store_id") };
  return [
    jsonOperation({
      ...shared,
      method: "post",
      paths: twice("vector_stores"),
      summary: "Create a vector store",
      body: newVectorStore,
      answer: vectorStoreObject,
      handle: async ({ body, caller }) => shownStore(await createStore(deps, caller, body), deps.clock.now()),
    }),
    jsonOperation({
      ...shared,
      method: "get",
      paths: twice("vector_stores"),
      summary: "List vector stores",
      query: listQuery,
      answer: listOf(vectorStoreObject),
      handle: async ({ query, caller }) => {
        const page = await records.list<VectorStoreObject>(caller.teamId, "vector_store", readPage(query));
        const stores = page.records.map(({ body }) => shownStore(body, deps.clock.now()));
        return listAnswer(stores, page.hasMore);
      },
    }),
    jsonOperation({
      ...one,
      method: "get",
      summary: "Retrieve a vector store",
      answer: vectorStoreObject,
      handle: async ({ param, caller }) =>
        shownStore((await requireRecord<VectorStoreObject>(deps, caller, named(param))).body, deps.clock.now()),
    }),
    jsonOperation({
      ...one,
      method: "post",
      summary: "Modify a vector store",
      body: vectorStoreChange,
      keepNulls: true,
      answer: vectorStoreObject,
      handle: async ({ body, param, caller }) => {
        const { result } = await writeAgainstChange(deps, ownerOf(caller), async () => {
          const store = await requireStore(deps, caller.teamId, param("vector_store_id"));
          const changed = activeAt({ ...store.body, ...given(body) }, deps.clock.now());
          return { writes: [storeWrite(changed, store)], result: changed };
        });
        return shownStore(result, deps.clock.now());
      },
    }),
    jsonOperation({
      ...one,
      method: "delete",
      summary: "Delete a vector store",
      answer: deletedObject("vector_store.deleted"),
      handle: async ({ param, caller }) => {
        const { id } = await requireRecord(deps, caller, named(param));
        await records.commit(ownerOf(caller), [{ type: "remove", kind: "vector_store", id, withChildren: true }]);
        return { id, object: "vector_store.deleted", deleted: true };
      },
    }),
    searchOperation(deps),
  ];
}

function searchOperation(deps: VectorStoresDeps): GatewayOperation {
  return jsonOperation({
    tag: "Vector stores",
    bodyBytesMax: deps.bodyBytesMax,
    once: deps.once,
    method: "post",
    paths: twice("vector_stores/:vector_store_id/search"),
    summary: "Search a vector store",
    body: storeSearch,
    answer: searchAnswer,
    handle: async ({ body, param, caller, response }) => {
      const { body: store } = await requireStore(deps, caller.teamId, param("vector_store_id"));
      const left = new AbortController();
      response.once("close", () => left.abort());
      const queries = typeof body.query === "string" ? [body.query] : body.query;
      const limit = body.max_num_results ?? RESULTS_DEFAULT;
      const threshold = body.ranking_options?.score_threshold ?? 0;
      const asked = { queries, filter: body.filters ?? undefined, limit, threshold };
      const data = await searchStore(deps, { caller, store, signal: left.signal }, asked);
      await noteUse(deps, ownerOf(caller), store);
      return { object: "vector_store.search_results.page", search_query: queries, data, has_more: false, next_page: null };
    },
  });
}

const named = (param: (name: string) => string) => ({ kind: "vector_store" as const, id: param("vector_store_id") });

/** The fields that a change names; null clears one. */
function given({ name, metadata, expires_after: expiresAfter }: z.output<typeof vectorStoreChange>): Partial<VectorStoreObject> {
  return {
    ...(name === undefined ? {} : { name }),
    ...(metadata === undefined ? {} : { metadata: metadata ?? {} }),
    ...(expiresAfter === undefined ? {} : { expires_after: expiresAfter }),
  };
}
