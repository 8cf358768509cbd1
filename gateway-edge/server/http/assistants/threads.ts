import { newId } from "../../../../common/ids.ts";
import { deletedObject, threadObject } from "../../../schemas/stored/assistant-answers.ts";
import { newThread, threadChange } from "../../../schemas/stored/threads.ts";
import type { ThreadBody } from "../../../stored/assistants/bodies.ts";
import { requireFiles } from "../../../stored/assistants/checks.ts";
import { threadOf } from "../../../stored/assistants/objects.ts";
import { messageWrites } from "../../../stored/assistants/run-actions.ts";
import { attaching, openResources } from "../../../stored/assistants/search-resources.ts";
import { putThread, requireThread } from "../../../stored/assistants/thread-store.ts";
import { teamFiles } from "../../../stored/files/team-files.ts";
import { ownerOf } from "../../../stored/records/own-record.ts";
import { writeAgainstChange } from "../../../stored/records/write-against-change.ts";
import { type GatewayOperation, jsonOperation, twice } from "../gateway-operation.ts";
import type { AssistantsDeps } from "./assistants-deps.ts";

export function threadOperations(deps: AssistantsDeps): GatewayOperation[] {
  const { bodyBytesMax, once, records } = deps;
  const shared = { tag: "Threads", bodyBytesMax, once, answer: threadObject };
  const one = { ...shared, paths: twice("threads/:thread_id") };
  return [
    jsonOperation({
      ...shared,
      method: "post",
      paths: twice("threads"),
      summary: "Create a thread",
      body: newThread,
      handle: async ({ body, caller }) => {
        const messages = body.messages ?? [];
        await requireFiles(messages, { files: teamFiles(records, caller.teamId), at: "messages" });
        const resources = await openResources(deps, caller, body.tool_resources);
        const nowMs = deps.clock.now();
        const empty = threadOf({ id: newId("thread", deps), nowMs }, { ...body, tool_resources: resources });
        const thread = await attaching(deps, caller, messages)(empty);
        const stored: ThreadBody = { thread, activeRunId: null };
        const create = { type: "create", kind: "thread", id: thread.id, body: stored, createdAtMs: nowMs } as const;
        await records.commit(ownerOf(caller), [create, ...messageWrites(deps, messages, thread.id)]);
        return thread;
      },
    }),
    jsonOperation({
      ...one,
      method: "get",
      summary: "Retrieve a thread",
      handle: async ({ param, caller }) => (await requireThread(deps, caller, param("thread_id"))).body.thread,
    }),
    jsonOperation({
      ...one,
      method: "post",
      summary: "Modify a thread",
      body: threadChange,
      keepNulls: true,
      handle: async ({ body, param, caller }) => {
        // Before a vector store is created, which is paid for.
        await requireThread(deps, caller, param("thread_id"));
        const resources = await openResources(deps, caller, body.tool_resources);
        const { result } = await writeAgainstChange(deps, ownerOf(caller), async () => {
          const record = await requireThread(deps, caller, param("thread_id"));
          const thread = { ...record.body.thread };
          if (body.metadata !== undefined) thread.metadata = body.metadata ?? {};
          if (resources !== undefined) thread.tool_resources = resources;
          return { writes: [putThread(record, { ...record.body, thread })], result: thread };
        });
        return result;
      },
    }),
    jsonOperation({
      ...one,
      method: "delete",
      summary: "Delete a thread with its messages and runs",
      answer: deletedObject("thread.deleted"),
      handle: async ({ param, caller }) => {
        const { id, body } = await requireThread(deps, caller, param("thread_id"));
        await records.commit(ownerOf(caller), [{ type: "remove", kind: "thread", id, withChildren: true }]);
        if (body.activeRunId !== null) deps.breakOff(body.activeRunId);
        return { id, object: "thread.deleted", deleted: true };
      },
    }),
  ];
}
