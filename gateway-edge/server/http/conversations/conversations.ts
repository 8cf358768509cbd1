import { z } from "zod";
import type { Clock } from "../../../../common/clock.ts";
import { newId } from "../../../../common/ids.ts";
import type { Random } from "../../../../common/random.ts";
import type { Caller } from "../../../../proto/gen/tributary/access/v1/access.ts";
import { shownItem } from "../../../calls/dialects/responses/response.ts";
import { listAnswer, listQuery, readPage } from "../../../schemas/object-list.ts";
import type { OperationDescription } from "../../../schemas/operation-description.ts";
import { deletedObject, listOf } from "../../../schemas/stored/assistant-answers.ts";
import {
  conversationChange,
  conversationItemObject,
  conversationObject,
  newConversation,
  newConversationItems,
} from "../../../schemas/stored/conversations.ts";
import { containersOfItems, requireContainers } from "../../../stored/containers/own-containers.ts";
import { ownerOf, requireRecord } from "../../../stored/records/own-record.ts";
import type { RecordStore } from "../../../stored/records/records.ts";
import { writeAgainstChange } from "../../../stored/records/write-against-change.ts";
import {
  bytesOf,
  type ConversationBody,
  conversationItem,
  itemWrites,
  putConversation,
  requireConversation,
  requireRoom,
} from "../../../stored/responses/conversations.ts";
import { idPrefix } from "../../../stored/responses/input-items.ts";
import type { Fields } from "../../../upstream/providers/provider.ts";
import type { AnswerOnce } from "../calls/answer-once.ts";
import { describeGatewayOperations, type GatewayOperation, jsonOperation, twice } from "../gateway-operation.ts";

export interface ConversationsDeps {
  readonly records: RecordStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly bodyBytesMax: number;
  readonly once: AnswerOnce;
}

/** Conversations of a team: items that responses continue, and add their turns to. */
export function conversationsOperations(deps: ConversationsDeps): GatewayOperation[] {
  return [...conversationOperations(deps), ...itemOperations(deps)];
}

/** The operations for /openapi.json and /docs; their handlers are not called. */
export function describeConversations(): OperationDescription[] {
  return describeGatewayOperations(conversationsOperations({ bodyBytesMax: 0 } as ConversationsDeps));
}

function conversationOperations(deps: ConversationsDeps): GatewayOperation[] {
  const { records, clock, bodyBytesMax, once } = deps;
  const shared = { tag: "Conversations", bodyBytesMax, once };
  const one = { ...shared, paths: twice("conversations/:conversation_id") };
  return [
    jsonOperation({
      ...shared,
      method: "post",
      paths: twice("conversations"),
      summary: "Create a conversation",
      body: newConversation,
      answer: conversationObject,
      handle: async ({ body, caller }) => {
        const [id, nowMs] = [newId("conv", deps), clock.now()];
        const items = await ownItems(deps, caller, body.items ?? []);
        const created_at = Math.floor(nowMs / 1000);
        const conversation = { id, object: "conversation", created_at, metadata: body.metadata ?? {} } as const;
        const stored: ConversationBody = { conversation, itemCount: items.length, itemBytes: bytesOf(items) };
        const created = { type: "create", kind: "conversation_item", parentId: id, createdAtMs: nowMs } as const;
        await records.commit(ownerOf(caller), [
          { type: "create", kind: "conversation", id, body: stored, createdAtMs: nowMs },
          ...items.map((item) => ({ ...created, id: item.id, body: item })),
        ]);
        return conversation;
      },
    }),
    jsonOperation({
      ...one,
      method: "get",
      summary: "Retrieve a conversation",
      answer: conversationObject,
      handle: async ({ param, caller }) => (await requireConversation(deps, caller, param("conversation_id"))).body.conversation,
    }),
    jsonOperation({
      ...one,
      method: "post",
      summary: "Replace the metadata of a conversation",
      body: conversationChange,
      keepNulls: true,
      answer: conversationObject,
      handle: ({ body, param, caller }) =>
        changed(deps, caller, param("conversation_id"), (before) => ({
          ...before,
          conversation: { ...before.conversation, metadata: body.metadata ?? {} },
        })),
    }),
    jsonOperation({
      ...one,
      method: "delete",
      summary: "Delete a conversation with its items; responses that it got stay stored",
      answer: deletedObject("conversation.deleted"),
      handle: async ({ param, caller }) => {
        const { id } = await requireConversation(deps, caller, param("conversation_id"));
        await records.commit(ownerOf(caller), [{ type: "remove", kind: "conversation", id, withChildren: true }]);
        return { id, object: "conversation.deleted", deleted: true };
      },
    }),
  ];
}

const includeQuery = z.object({
  include: z.union([z.string(), z.array(z.string())]).optional(),
  "include[]": z.union([z.string(), z.array(z.string())]).optional(),
});
const included = (query: z.output<typeof includeQuery>) => [query.include ?? [], query["include[]"] ?? []].flat();
const shown = (item: Fields, include: readonly string[]) => ({ ...shownItem(item, include), id: String(item["id"]) });

function itemOperations(deps: ConversationsDeps): GatewayOperation[] {
  const { records, bodyBytesMax, once } = deps;
  const shared = { tag: "Conversations", bodyBytesMax, once };
  const items = { ...shared, paths: twice("conversations/:conversation_id/items") };
  const one = { ...shared, paths: twice("conversations/:conversation_id/items/:item_id") };
  return [
    jsonOperation({
      ...items,
      method: "post",
      summary: "Add items to a conversation",
      body: newConversationItems,
      answer: listOf(conversationItemObject),
      handle: async ({ body, param, caller }) => {
        const added = await ownItems(deps, caller, body.items);
        await writeAgainstChange(deps, ownerOf(caller), async () => {
          const conversation = await requireConversation(deps, caller, param("conversation_id"));
          requireRoom(conversation, added);
          return { writes: itemWrites(conversation, added, deps.clock.now()), result: undefined };
        });
        return listAnswer(added, false);
      },
    }),
    jsonOperation({
      ...items,
      method: "get",
      summary: "List the items of a conversation",
      query: listQuery.extend(includeQuery.shape),
      answer: listOf(conversationItemObject),
      handle: async ({ query, param, caller }) => {
        const { id: parentId } = await requireConversation(deps, caller, param("conversation_id"));
        const page = await records.list<Fields>(caller.teamId, "conversation_item", { ...readPage(query), parentId });
        const listed = page.records.map(({ body }) => shown(body, included(query)));
        return listAnswer(listed, page.hasMore);
      },
    }),
    jsonOperation({
      ...one,
      method: "get",
      summary: "Retrieve an item of a conversation",
      query: includeQuery,
      answer: conversationItemObject,
      handle: async ({ query, param, caller }) => shown((await requireItem(deps, caller, param)).body, included(query)),
    }),
    jsonOperation({
      ...one,
      method: "delete",
      summary: "Delete an item of a conversation",
      answer: conversationObject,
      handle: async ({ param, caller }) => {
        const { id, body } = await requireItem(deps, caller, param);
        const less = (before: ConversationBody) => ({
          ...before,
          itemCount: before.itemCount - 1,
          itemBytes: Math.max(0, (before.itemBytes ?? 0) - bytesOf([body])),
        });
        return await changed(deps, caller, param("conversation_id"), less, id);
      },
    }),
  ];
}

function requireItem(deps: ConversationsDeps, caller: Caller, param: (name: string) => string) {
  return requireRecord<Fields>(deps, caller, { kind: "conversation_item", id: param("item_id"), parentId: param("conversation_id") });
}

/** Changes a conversation, and removes one of its items in the same commit. */
async function changed(
  deps: ConversationsDeps,
  caller: Caller,
  id: string,
  change: (before: ConversationBody) => ConversationBody,
  removedId?: string,
): Promise<ConversationBody["conversation"]> {
  const { result } = await writeAgainstChange(deps, ownerOf(caller), async () => {
    const record = await requireConversation(deps, caller, id);
    const body = change(record.body);
    const removed = removedId === undefined ? [] : [{ type: "remove", kind: "conversation_item", id: removedId } as const];
    return { writes: [putConversation(record, body), ...removed], result: body.conversation };
  });
  return result;
}

/** Items under ids of the gateway: an id names one item of the store. Responses send them to the provider, with the containers they name. */
async function ownItems(deps: ConversationsDeps, caller: Caller, items: readonly Fields[]): Promise<(Fields & { id: string })[]> {
  await requireContainers(deps, caller, containersOfItems(items, "items"));
  return items.map((item) => {
    const id = newId(idPrefix(item), deps);
    return { ...conversationItem(item, id), id };
  });
}
