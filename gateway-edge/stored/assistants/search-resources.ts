import { AppError } from "../../../common/errors.ts";
import type { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import type { ThreadObject } from "../../schemas/stored/assistant-answers.ts";
import type { ToolResources } from "../../schemas/stored/assistants.ts";
import type { NewMessage } from "../../schemas/stored/threads.ts";
import { newVectorStore } from "../../schemas/stored/vector-stores.ts";
import { addFiles } from "../vector-stores/add-files.ts";
import { type CreateDeps, createStore } from "../vector-stores/create-store.ts";
import { type StoreFileBody, storeFileId } from "../vector-stores/objects.ts";
import { requireStore } from "../vector-stores/stored-files.ts";

/** As at OpenAI, for an assistant and for a thread. */
const STORES_MAX = 1;
/** A vector store that a thread got for its attachments expires so long after its last use. */
const ATTACHED_DAYS = 7;

/** The vector stores of an assistant, a thread or both, each once. */
export function searchedStores(...resources: readonly (ToolResources | null | undefined)[]): string[] {
  return [...new Set(resources.flatMap((each) => each?.file_search?.vector_store_ids ?? []))];
}

/** Checks the resources of an assistant or a thread, and creates the vector store that they describe. `at`: their path in the request. */
export async function openResources<Given extends ToolResources | null | undefined>(
  deps: CreateDeps,
  caller: Caller,
  resources: Given,
  at = "tool_resources",
): Promise<ToolResources | Given> {
  if (!resources) return resources;
  if ((resources.code_interpreter?.file_ids ?? []).length > 0) {
    throw refused("UNSUPPORTED_PARAMETER", `${at}.code_interpreter`, "This gateway does not support the tool code_interpreter.");
  }
  const { vector_store_ids: ids, vector_stores: described } = resources.file_search ?? {};
  const param = `${at}.file_search`;
  if ((ids?.length ?? 0) + (described?.length ?? 0) > STORES_MAX) {
    throw refused("INVALID_REQUEST", param, `${param}: must have at most ${STORES_MAX} vector store. Add all files to one store.`);
  }
  for (const id of ids ?? []) await requireStore(deps, caller.teamId, id);
  const [first] = described ?? [];
  if (!first) return resources;
  const parsed = newVectorStore.safeParse(first);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const place = [`${param}.vector_stores[0]`, ...(issue?.path ?? []).map(String)].join(".");
    throw refused("INVALID_REQUEST", place, `${place}: ${issue?.message ?? "is not valid"}`);
  }
  const { id } = await createStore(deps, caller, parsed.data);
  return { ...resources, file_search: { vector_store_ids: [id] } };
}

/**
 * Returns a function that adds the files that messages attach for file search to the vector store of their thread, and returns the thread. A
 * thread without a store gets one; called again, because another writer changed the thread, it gets the same.
 */
export function attaching(
  deps: CreateDeps,
  caller: Caller,
  messages: readonly NewMessage[],
): (thread: ThreadObject) => Promise<ThreadObject> {
  const attached = messages.flatMap(({ attachments }) => (attachments ?? []).filter(isForSearch));
  const fileIds = [...new Set(attached.map(({ file_id: id }) => id))];
  let made: string | undefined;
  return async (thread) => {
    if (fileIds.length === 0) return thread;
    const [storeId] = searchedStores(thread.tool_resources);
    if (storeId !== undefined) {
      await addMissing(deps, caller, { storeId, fileIds });
      return thread;
    }
    const expires = { anchor: "last_active_at" as const, days: ATTACHED_DAYS };
    made ??= (await createStore(deps, caller, { file_ids: fileIds, expires_after: expires })).id;
    return { ...thread, tool_resources: { ...thread.tool_resources, file_search: { vector_store_ids: [made] } } };
  };
}

async function addMissing(
  deps: CreateDeps,
  caller: Caller,
  { storeId, fileIds }: { storeId: string; fileIds: readonly string[] },
): Promise<void> {
  await requireStore(deps, caller.teamId, storeId);
  const states = await Promise.all(fileIds.map((id) => isSearchable(deps, caller.teamId, storeFileId(storeId, id))));
  const files = fileIds.filter((_id, place) => !states[place]).map((id) => ({ file_id: id }));
  if (files.length > 0) await addFiles(deps, { caller, storeId, files });
}

function isForSearch({ tools }: NonNullable<NewMessage["attachments"]>[number]): boolean {
  return tools?.some(({ type }) => type === "file_search") ?? false;
}

/** Whether a file is indexed or will be: then it is not paid for again. */
async function isSearchable({ records }: CreateDeps, teamId: string, id: string): Promise<boolean> {
  const known = await records.get<StoreFileBody>(teamId, "vector_store_file", id);
  return known?.body.file.status === "completed" || known?.body.file.status === "in_progress";
}

function refused(code: "INVALID_REQUEST" | "UNSUPPORTED_PARAMETER", param: string, message: string): AppError {
  return new AppError(code, message, { param });
}
