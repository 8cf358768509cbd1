import type { ChatSettings, Message } from "./chat-request.ts";
import { NO_SETTINGS } from "./chat-request.ts";
import type { Spent } from "./stream-chat.ts";

/** What is left of the playground after a reload. An API key is never stored. */
export interface StoredChats {
  readonly settings: ChatSettings;
  readonly chats: Readonly<Record<string, { readonly messages: readonly Message[]; readonly spent: readonly Spent[] }>>;
}

export const NO_CHATS: StoredChats = { settings: NO_SETTINGS, chats: {} };

/** Browsers store about 5 MB for a site; a conversation with many images is stored without them. */
const CHARACTERS_MAX = 1_000_000;
const PREFIX = "playground:";

export function readChats(storage: Storage, owner: string): StoredChats {
  try {
    const { settings, chats } = JSON.parse(storage.getItem(PREFIX + owner) ?? "{}") as Partial<StoredChats>;
    return { settings: { ...NO_SETTINGS, ...settings }, chats: chats ?? {} };
  } catch {
    // What an older version stored, or what someone edited, is no reason to fail.
    return NO_CHATS;
  }
}

export function storeChats(storage: Storage, owner: string, stored: StoredChats): void {
  const whole = JSON.stringify(stored);
  const text = whole.length <= CHARACTERS_MAX ? whole : JSON.stringify({ ...stored, chats: withoutImages(stored.chats) });
  if (text.length > CHARACTERS_MAX) return;
  try {
    storage.setItem(PREFIX + owner, text);
  } catch {
    // The storage is full or switched off: the conversation lasts as long as the page.
  }
}

/** At log-out, so that the next user of this browser does not find the conversations. */
export function forgetChats(storage: Storage): void {
  for (const name of Object.keys(storage).filter((key) => key.startsWith(PREFIX))) storage.removeItem(name);
}

function withoutImages(chats: StoredChats["chats"]): StoredChats["chats"] {
  const textOnly = (message: Message): Message => ({
    ...message,
    content:
      message.content === null || typeof message.content === "string"
        ? message.content
        : message.content.filter(({ type }) => type === "text"),
  });
  return Object.fromEntries(Object.entries(chats).map(([model, chat]) => [model, { ...chat, messages: chat.messages.map(textOnly) }]));
}
