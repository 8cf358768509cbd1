import type { Caller } from "../../../../proto/gen/tributary/access/v1/access.ts";
import { listAnswer, messageListQuery, readPage } from "../../../schemas/object-list.ts";
import { deletedObject, listOf, type MessageObject, messageObject } from "../../../schemas/stored/assistant-answers.ts";
import { metadataChange } from "../../../schemas/stored/assistants.ts";
import { newMessage } from "../../../schemas/stored/threads.ts";
import { requireFiles } from "../../../stored/assistants/checks.ts";
import { messageWrites } from "../../../stored/assistants/run-actions.ts";
import { attaching } from "../../../stored/assistants/search-resources.ts";
import { putThread, requireIdle, requireThread } from "../../../stored/assistants/thread-store.ts";
import { teamFiles } from "../../../stored/files/team-files.ts";
import { ownerOf, requireRecord } from "../../../stored/records/own-record.ts";
import type { PageQuery, RecordOf } from "../../../stored/records/records.ts";
import { writeAgainstChange } from "../../../stored/records/write-against-change.ts";
import { type GatewayOperation, jsonOperation, twice } from "../gateway-operation.ts";
import type { AssistantsDeps } from "./assistants-deps.ts";

export function messageOperations(deps: AssistantsDeps): GatewayOperation[] {
  const { bodyBytesMax, once, records } = deps;
  const all = { tag: "Messages", bodyBytesMax, once, paths: twice("threads/:thread_id/messages"), answer: messageObject };
  const one = { ...all, paths: twice("threads/:thread_id/messages/:message_id") };
  return [
    jsonOperation({
      ...all,
      method: "post",
      summary: "Add a message to a thread",
      body: newMessage,
      handle: async ({ body, param, caller }) => {
        const threadId = param("thread_id");
        await requireThread(deps, caller, threadId);
        await requireFiles([body], { files: teamFiles(records, caller.teamId), at: undefined });
        const attach = attaching(deps, caller, [body]);
        const { written } = await writeAgainstChange(deps, ownerOf(caller), async () => {
          const record = await requireThread(deps, caller, threadId);
          requireIdle(record, "message");
          const thread = await attach(record.body.thread);
          // The thread is written too, so that a run that starts at this moment sees the message, or the message is refused.
          return { writes: [...messageWrites(deps, [body], threadId), putThread(record, { ...record.body, thread })], result: undefined };
        });
        return written[0]?.body;
      },
    }),
    jsonOperation({
      ...all,
      method: "get",
      summary: "List the messages of a thread",
      query: messageListQuery,
      answer: listOf(messageObject),
      handle: async ({ query, param, caller }) => {
        const parentId = param("thread_id");
        await requireThread(deps, caller, parentId);
        const page = { ...readPage(query), parentId };
        return query.run_id ? listOfRun(deps, caller, { page, runId: query.run_id }) : listAll(deps, caller, page);
      },
    }),
    jsonOperation({
      ...one,
      method: "get",
      summary: "Retrieve a message",
      handle: async ({ param, caller }) => (await requireRecord<MessageObject>(deps, caller, named(param))).body,
    }),
    jsonOperation({
      ...one,
      method: "post",
      summary: "Modify a message",
      body: metadataChange,
      keepNulls: true,
      handle: async ({ body, param, caller }) => {
        const { result } = await writeAgainstChange(deps, ownerOf(caller), async () => {
          const record = await requireRecord<MessageObject>(deps, caller, named(param));
          const message = body.metadata === undefined ? record.body : { ...record.body, metadata: body.metadata ?? {} };
          const put = { type: "put", kind: "message", id: record.id, body: message, expectedRevision: record.revision } as const;
          return { writes: [put], result: message };
        });
        return result;
      },
    }),
    jsonOperation({
      ...one,
      method: "delete",
      summary: "Delete a message",
      answer: deletedObject("thread.message.deleted"),
      handle: async ({ param, caller }) => {
        const { result: id } = await writeAgainstChange(deps, ownerOf(caller), async () => {
          const record = await requireRecord(deps, caller, named(param));
          const thread = await requireThread(deps, caller, param("thread_id"));
          requireIdle(thread, "removal");
          const remove = { type: "remove", kind: "message", id: record.id } as const;
          return { writes: [remove, putThread(thread, thread.body)], result: record.id };
        });
        return { id, object: "thread.message.deleted", deleted: true };
      },
    }),
  ];
}

const named = (param: (name: string) => string) => ({
  kind: "message" as const,
  id: param("message_id"),
  parentId: param("thread_id"),
});

async function listAll({ records }: AssistantsDeps, caller: Caller, page: PageQuery) {
  const { records: found, hasMore } = await records.list<MessageObject>(caller.teamId, "message", page);
  return listAnswer(
    found.map(({ body }) => body),
    hasMore,
  );
}

const PAGE = 100;

/** The messages of one run: filtered page by page from the cursor on, until there is one more than the limit. */
async function listOfRun({ records }: AssistantsDeps, caller: Caller, { page, runId }: { page: PageQuery; runId: string }) {
  const isBackwards = page.before !== undefined;
  const found: MessageObject[] = [];
  for (let query: PageQuery | undefined = { ...page, limit: PAGE }; query !== undefined; ) {
    const listed: { records: RecordOf<MessageObject>[]; hasMore: boolean } = await records.list(caller.teamId, "message", query);
    const { records: next, hasMore } = listed;
    const messages = next.map(({ body }) => body).filter(({ run_id: id }) => id === runId);
    if (isBackwards) found.unshift(...messages);
    else found.push(...messages);
    const edge = isBackwards ? { before: next[0]?.id } : { after: next.at(-1)?.id };
    query = hasMore && found.length <= page.limit ? { ...query, ...edge } : undefined;
  }
  return listAnswer(isBackwards ? found.slice(-page.limit) : found.slice(0, page.limit), found.length > page.limit);
}
