import type { Clock } from "../../../common/clock.ts";
import { AppError } from "../../../common/errors.ts";
import type { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import type { ResponsesRequest } from "../../schemas/calls/responses.ts";
import type { Fields } from "../../upstream/providers/provider.ts";
import type { RecordOf, RecordStore, RecordWrite } from "../records/records.ts";
import { idPrefix } from "./input-items.ts";

/** A conversation as it is stored; each of its items is a record below it. */
export interface ConversationBody {
  readonly conversation: {
    readonly id: string;
    readonly object: "conversation";
    readonly created_at: number;
    readonly metadata: Readonly<Record<string, string>>;
  };
  readonly itemCount: number;
  /** The items as JSON; absent in conversations from before the limit. */
  readonly itemBytes?: number;
}

export interface ConversationDeps {
  readonly records: RecordStore;
  readonly clock: Clock;
}

/** A response reads the whole conversation into memory. */
const ITEMS_MAX = 1000;
export const BYTES_MAX = 16 * 1024 * 1024;
const PAGE = 100;

/** The id in the `conversation` of a request. */
export function conversationIdOf({ conversation }: ResponsesRequest): string | undefined {
  return typeof conversation === "object" ? conversation.id : conversation;
}

export async function requireConversation(
  { records }: Pick<ConversationDeps, "records">,
  { teamId }: Pick<Caller, "teamId">,
  id: string,
): Promise<RecordOf<ConversationBody>> {
  const record = await records.get<ConversationBody>(teamId, "conversation", id);
  if (!record) throw new AppError("NOT_FOUND", `No conversation found with id '${id.slice(0, 200)}'.`, { param: "conversation" });
  return record;
}

/** Refuses items that would exceed a limit. */
export function requireRoom({ id, body }: RecordOf<ConversationBody>, added: readonly Fields[]): void {
  const { itemCount, itemBytes } = withItems(body, added);
  const excess =
    itemCount > ITEMS_MAX ? `${ITEMS_MAX} items` : itemBytes > BYTES_MAX ? `${BYTES_MAX / 1024 / 1024} MiB of items` : undefined;
  if (excess === undefined) return;
  const message = `The conversation ${id} would have more than ${excess}. Start a new one, or delete items.`;
  throw new AppError("INVALID_REQUEST", message, { param: "conversation" });
}

/** Whether a limit is exceeded. Of turns that were under way together, one may exceed it; those after it are not added. */
export function isFull({ itemCount, itemBytes = 0 }: ConversationBody): boolean {
  return itemCount > ITEMS_MAX || itemBytes > BYTES_MAX;
}

export function bytesOf(items: readonly Fields[]): number {
  return items.reduce((sum, item) => sum + Buffer.byteLength(JSON.stringify(item)), 0);
}

function withItems(body: ConversationBody, added: readonly Fields[]): ConversationBody & { readonly itemBytes: number } {
  return { ...body, itemCount: body.itemCount + added.length, itemBytes: (body.itemBytes ?? 0) + bytesOf(added) };
}

/** All items of a conversation, oldest first. */
export async function itemsOf({ records }: Pick<ConversationDeps, "records">, teamId: string, parentId: string): Promise<Fields[]> {
  const items: Fields[] = [];
  for (let after: string | undefined; ; ) {
    const page = await records.list<Fields>(teamId, "conversation_item", { parentId, order: "asc", limit: PAGE, after });
    items.push(...page.records.map(({ body }) => body));
    after = page.records.at(-1)?.id;
    if (!page.hasMore) return items;
  }
}

/** The writes that add items to a conversation, with its count and bytes. The conversation must be as it was read: it may have been deleted. */
export function itemWrites(conversation: RecordOf<ConversationBody>, items: readonly Fields[], nowMs: number): RecordWrite[] {
  const { id: parentId, body, revision } = conversation;
  return [
    putConversation({ id: parentId, revision }, withItems(body, items)),
    ...items.map(
      (item): RecordWrite => ({
        ...{ type: "create", kind: "conversation_item", id: String(item["id"]), parentId, body: item, createdAtMs: nowMs },
      }),
    ),
  ];
}

export function putConversation({ id, revision }: Pick<RecordOf<unknown>, "id" | "revision">, body: ConversationBody): RecordWrite {
  return { type: "put", kind: "conversation", id, body, expectedRevision: revision };
}

/** An item as conversations show it: messages have a status, and their content is a list. */
export function conversationItem(item: Fields, id: string): Fields {
  const type = typeof item["type"] === "string" ? item["type"] : "message";
  if (type !== "message") return { ...item, type, id };
  const { role, content } = item;
  const part = role === "assistant" ? { type: "output_text", annotations: [] } : { type: "input_text" };
  return { status: "completed", ...item, type, id, content: typeof content === "string" ? [{ ...part, text: content }] : content };
}

/** The items of a turn under ids that no other item has, whatever ids the caller gave. */
export function conversationItems({ input, output }: { input: readonly Fields[]; output: readonly Fields[] }, suffix: string): Fields[] {
  const named = input.map((item, index) => conversationItem(item, `${idPrefix(item)}_${suffix}_i${index}`));
  return [...named, ...output.map((item) => conversationItem(item, String(item["id"])))];
}
