import { newId } from "../../../../common/ids.ts";
import { listAnswer, listQuery, readPage } from "../../../schemas/object-list.ts";
import type { OperationDescription } from "../../../schemas/operation-description.ts";
import { type AssistantObject, assistantObject, deletedObject, listOf } from "../../../schemas/stored/assistant-answers.ts";
import { assistantChange, newAssistant } from "../../../schemas/stored/assistants.ts";
import { requireModel, requireTools } from "../../../stored/assistants/checks.ts";
import { assistantOf, changedAssistant } from "../../../stored/assistants/objects.ts";
import { openResources } from "../../../stored/assistants/search-resources.ts";
import { ownerOf, requireRecord } from "../../../stored/records/own-record.ts";
import { writeAgainstChange } from "../../../stored/records/write-against-change.ts";
import { describeGatewayOperations, type GatewayOperation, jsonOperation, twice } from "../gateway-operation.ts";
import type { AssistantsDeps } from "./assistants-deps.ts";
import { runStepOperations } from "./run-steps.ts";
import { runOperations } from "./runs.ts";
import { messageOperations } from "./thread-messages.ts";
import { threadOperations } from "./threads.ts";

/** Assistants, threads, messages, runs and run steps: OpenAI's Assistants API over any chat model of the gateway. */
export function assistantsOperations(deps: AssistantsDeps): GatewayOperation[] {
  return [
    ...assistantOperations(deps),
    // Before threads, where `/threads/runs` would match as a thread id.
    ...runOperations(deps),
    ...runStepOperations(deps),
    ...messageOperations(deps),
    ...threadOperations(deps),
  ];
}

/** The operations for /openapi.json and /docs; their handlers are not called. */
export function describeAssistants(): OperationDescription[] {
  return describeGatewayOperations(assistantsOperations({ bodyBytesMax: 0 } as AssistantsDeps));
}

function assistantOperations(deps: AssistantsDeps): GatewayOperation[] {
  const { bodyBytesMax, once, records, routing } = deps;
  const shared = { tag: "Assistants", bodyBytesMax, once };
  const one = { ...shared, paths: twice("assistants/:assistant_id") };
  return [
    jsonOperation({
      ...shared,
      method: "post",
      paths: twice("assistants"),
      summary: "Create an assistant",
      body: newAssistant,
      answer: assistantObject,
      handle: async ({ body, caller }) => {
        requireModel(caller, body.model, routing);
        requireTools(body.tools);
        const resources = await openResources(deps, caller, body.tool_resources);
        const nowMs = deps.clock.now();
        const assistant = assistantOf({ id: newId("asst", deps), nowMs }, { ...body, tool_resources: resources });
        await records.commit(ownerOf(caller), [
          { type: "create", kind: "assistant", id: assistant.id, body: assistant, createdAtMs: nowMs },
        ]);
        return assistant;
      },
    }),
    jsonOperation({
      ...shared,
      method: "get",
      paths: twice("assistants"),
      summary: "List assistants",
      query: listQuery,
      answer: listOf(assistantObject),
      handle: async ({ query, caller }) => {
        const page = await records.list<AssistantObject>(caller.teamId, "assistant", readPage(query));
        return listAnswer(
          page.records.map(({ body }) => body),
          page.hasMore,
        );
      },
    }),
    jsonOperation({
      ...one,
      method: "get",
      summary: "Retrieve an assistant",
      answer: assistantObject,
      handle: async ({ param, caller }) => (await requireRecord<AssistantObject>(deps, caller, named(param))).body,
    }),
    jsonOperation({
      ...one,
      method: "post",
      summary: "Modify an assistant",
      body: assistantChange,
      keepNulls: true,
      answer: assistantObject,
      handle: async ({ body, param, caller }) => {
        if (typeof body.model === "string") requireModel(caller, body.model, routing);
        requireTools(body.tools);
        // Before a vector store is created, which is paid for.
        await requireRecord(deps, caller, named(param));
        const resources = await openResources(deps, caller, body.tool_resources);
        const { result } = await writeAgainstChange(deps, ownerOf(caller), async () => {
          const record = await requireRecord<AssistantObject>(deps, caller, named(param));
          const changed = changedAssistant(record.body, { ...body, tool_resources: resources });
          const put = { type: "put", kind: "assistant", id: record.id, body: changed, expectedRevision: record.revision } as const;
          return { writes: [put], result: changed };
        });
        return result;
      },
    }),
    jsonOperation({
      ...one,
      method: "delete",
      summary: "Delete an assistant",
      answer: deletedObject("assistant.deleted"),
      handle: async ({ param, caller }) => {
        const { id } = await requireRecord(deps, caller, named(param));
        await records.commit(ownerOf(caller), [{ type: "remove", kind: "assistant", id }]);
        return { id, object: "assistant.deleted", deleted: true };
      },
    }),
  ];
}

const named = (param: (name: string) => string) => ({ kind: "assistant" as const, id: param("assistant_id") });
