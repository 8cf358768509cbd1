import type { z } from "zod";
import { newId } from "../../../common/ids.ts";
import type { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import type { newVectorStore, VectorStoreObject } from "../../schemas/stored/vector-stores.ts";
import { ownerOf, requireRecord } from "../records/own-record.ts";
import { type AddDeps, addFiles } from "./add-files.ts";
import { embeddingModel, type ModelDeps } from "./embed.ts";
import { newStoreObject } from "./objects.ts";
import { requireStore, storeWrite } from "./stored-files.ts";

export type CreateDeps = AddDeps & ModelDeps;

/** Creates a vector store, and adds the files that it is given. */
export async function createStore(deps: CreateDeps, caller: Caller, body: z.output<typeof newVectorStore>): Promise<VectorStoreObject> {
  const model = embeddingModel(deps, caller, body.embedding_model);
  const [nowMs, id] = [deps.clock.now(), newId("vs", deps)];
  const store = newStoreObject({ id, nowMs, model }, body);
  // A store whose files do not exist is not created.
  await Promise.all((body.file_ids ?? []).map((file) => requireRecord(deps, caller, { kind: "file", id: file })));
  await deps.records.commit(ownerOf(caller), [storeWrite(store)]);
  const files = (body.file_ids ?? []).map((file) => ({ file_id: file, chunking_strategy: body.chunking_strategy }));
  if (files.length === 0) return store;
  await addFiles(deps, { caller, storeId: id, files });
  return (await requireStore(deps, caller.teamId, id)).body;
}
