import { z } from "zod";

const text = z.string();
const ITEMS_AT_ONCE_MAX = 20;
const METADATA_MAX = 16;

const metadata = z
  .record(text.max(64), text.max(512))
  .refine((given) => Object.keys(given).length <= METADATA_MAX, `must have at most ${METADATA_MAX} entries`);
const item = z
  .looseObject({ type: text.nullish(), role: text.nullish() })
  .refine(({ type, role }) => type != null || role != null, "must have a type or a role")
  .refine(({ type }) => type !== "item_reference", "references to items are not supported here");
const items = z.array(item).max(ITEMS_AT_ONCE_MAX, `must have at most ${ITEMS_AT_ONCE_MAX} items`);

export const newConversation = z.object({ items: items.nullish(), metadata: metadata.nullish() });
export const conversationChange = z.object({ metadata: metadata.nullable() });
export const newConversationItems = z.object({ items: items.min(1) });

export const conversationObject = z.object({
  id: text,
  object: z.literal("conversation"),
  created_at: z.int(),
  metadata: z.record(text, text),
});
export const conversationItemObject = z.looseObject({ id: text, type: text });
