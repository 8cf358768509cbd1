import { NO_SETTINGS, userMessage } from "./chat-request.ts";
import { forgetChats, NO_CHATS, readChats, type StoredChats, storeChats } from "./stored-chats.ts";

/** A browser's storage: names are its own keys. */
function storageOf(room = Number.POSITIVE_INFINITY): Storage {
  const methods = {
    getItem: (name: string) => (storage[name] as string | undefined) ?? null,
    setItem: (name: string, value: string) => {
      if (value.length > room) throw new DOMException("full", "QuotaExceededError");
      storage[name] = value;
    },
    removeItem: (name: string) => delete storage[name],
  };
  const storage: Record<string, unknown> = Object.create(methods);
  return storage as unknown as Storage;
}

const chat = (content: string, images: readonly string[] = []): StoredChats => ({
  settings: { ...NO_SETTINGS, system: "Be brief." },
  chats: { echo: { messages: [userMessage(content, images)], spent: [{ inputTokens: 1, outputTokens: 2, costNano: 3 }] } },
});

test("a conversation is there after a reload, for its user only, until the log-out", () => {
  const storage = storageOf();
  storeChats(storage, "7", chat("hello"));
  expect([readChats(storage, "7"), readChats(storage, "8")]).toEqual([chat("hello"), NO_CHATS]);
  storage.setItem("theme", "dark");
  forgetChats(storage);
  expect([readChats(storage, "7"), storage.getItem("theme")]).toEqual([NO_CHATS, "dark"]);
});

test("large images are left out, and neither a full storage nor foreign content is an error", () => {
  const storage = storageOf();
  storeChats(storage, "7", chat("look", [`data:image/png;base64,${"A".repeat(1_000_000)}`]));
  expect(readChats(storage, "7").chats["echo"]?.messages).toEqual([{ role: "user", content: [{ type: "text", text: "look" }] }]);
  const full = storageOf(10);
  storeChats(full, "7", chat("hello"));
  full.setItem("playground:9", "{broken");
  expect([readChats(full, "7"), readChats(full, "9")]).toEqual([NO_CHATS, NO_CHATS]);
});
