import { useCallback, useRef, useState } from "react";
import { chatRequest, type Message, type Settings } from "./chat-request.ts";
import { type Spent, streamChat } from "./stream-chat.ts";

/** A conversation with one model, and its cost. */
export interface Talk {
  readonly messages: readonly Message[];
  readonly isBusy: boolean;
  readonly error: unknown;
  readonly spent: readonly Spent[];
  readonly firstMs: number | undefined;
  readonly wholeMs: number | undefined;
}

const SILENCE: Talk = { messages: [], isBusy: false, error: undefined, spent: [], firstMs: undefined, wholeMs: undefined };

/** Conversations with several models in parallel; each streams and fails independently. */
export function useTalks() {
  const [talks, setTalks] = useState<Readonly<Record<string, Talk>>>({});
  const stop = useRef<AbortController>(undefined);
  const change = useCallback((model: string, update: (talk: Talk) => Partial<Talk>) => {
    setTalks((all) => {
      const talk = all[model] ?? SILENCE;
      return { ...all, [model]: { ...talk, ...update(talk) } };
    });
  }, []);
  const ask = async (question: Message, { models, settings, secretOf }: AskOptions) => {
    stop.current = new AbortController();
    const { signal } = stop.current;
    const histories = new Map(models.map((model) => [model, [...(talks[model]?.messages ?? []), question]]));
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
              onSpent: (spent) => change(model, (talk) => ({ spent: [...talk.spent, spent] })),
            },
          );
        } catch (error) {
          if (!signal.aborted) change(model, () => ({ error }));
        }
        change(model, () => ({ isBusy: false, wholeMs: performance.now() - startedAt }));
      }),
    );
  };
  return { talks, ask, stop: () => stop.current?.abort(), clear: () => setTalks({}) };
}

interface AskOptions {
  readonly models: readonly string[];
  readonly settings: Settings;
  readonly secretOf: () => Promise<string>;
}
