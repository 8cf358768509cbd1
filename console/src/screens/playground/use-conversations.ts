import { useCallback, useRef, useState } from "react";
import { type ChatSettings, chatRequest, type Message } from "./chat-request.ts";
import type { StoredChats } from "./stored-chats.ts";
import { type Spent, streamChat } from "./stream-chat.ts";

/** A conversation with one model, and its cost. */
export interface Conversation {
  readonly messages: readonly Message[];
  readonly isBusy: boolean;
  readonly error: unknown;
  readonly spent: readonly Spent[];
  readonly firstMs: number | undefined;
  readonly wholeMs: number | undefined;
}

const EMPTY_CONVERSATION: Conversation = {
  messages: [],
  isBusy: false,
  error: undefined,
  spent: [],
  firstMs: undefined,
  wholeMs: undefined,
};

/** Conversations with several models in parallel; each streams and fails independently. */
export function useConversations(before: StoredChats["chats"]) {
  const [conversations, setConversations] = useState<Readonly<Record<string, Conversation>>>(() =>
    Object.fromEntries(Object.entries(before).map(([model, chat]) => [model, { ...EMPTY_CONVERSATION, ...chat }])),
  );
  const stop = useRef<AbortController>(undefined);
  const change = useCallback((model: string, update: (conversation: Conversation) => Partial<Conversation>) => {
    setConversations((all) => {
      const conversation = all[model] ?? EMPTY_CONVERSATION;
      return { ...all, [model]: { ...conversation, ...update(conversation) } };
    });
  }, []);
  /** Adds a message to the conversation with each model and sends it; without one, the conversation is sent as it is. */
  const ask = async (question: Message | undefined, { models, settings, secretOf }: AskOptions) => {
    stop.current = new AbortController();
    const { signal } = stop.current;
    const histories = new Map(models.map((model) => [model, [...(conversations[model]?.messages ?? []), ...(question ? [question] : [])]]));
    for (const [model, messages] of histories) {
      change(model, () => ({ messages, isBusy: true, error: undefined, firstMs: undefined, wholeMs: undefined }));
    }
    await Promise.all(
      [...histories].map(async ([model, messages]) => {
        const startedAt = performance.now();
        let answer = "";
        try {
          const body = chatRequest(model, messages, settings);
          await streamChat(
            { secret: await secretOf(), body, signal },
            {
              onText: (piece) => {
                answer += piece;
                const said: Message = { role: "assistant", content: answer };
                change(model, ({ firstMs }) => ({ messages: [...messages, said], firstMs: firstMs ?? performance.now() - startedAt }));
              },
              onSpent: (spent) => change(model, (conversation) => ({ spent: [...conversation.spent, spent] })),
            },
          );
        } catch (error) {
          if (!signal.aborted) change(model, () => ({ error }));
        }
        change(model, () => ({ isBusy: false, wholeMs: performance.now() - startedAt }));
      }),
    );
  };
  /** Replaces the conversation with a model. */
  const begin = useCallback((model: string, messages: readonly Message[]) => {
    setConversations((all) => ({ ...all, [model]: { ...EMPTY_CONVERSATION, messages } }));
  }, []);
  return { conversations, ask, begin, stop: () => stop.current?.abort(), clear: () => setConversations({}) };
}

interface AskOptions {
  readonly models: readonly string[];
  readonly settings: ChatSettings;
  readonly secretOf: () => Promise<string>;
}
