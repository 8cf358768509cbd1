import type { ChatMessage } from "../../upstream/providers/provider.ts";

interface FitInput {
  /** Always kept: the instructions, and what was said in the run. */
  readonly before: readonly ChatMessage[];
  readonly after: readonly ChatMessage[];
  /** Of the thread, oldest first; the oldest are left out first, the newest never. */
  readonly messages: readonly ChatMessage[];
  readonly budget: number;
  readonly count: (messages: readonly ChatMessage[]) => Promise<number>;
}

/** As much of a thread as fits a number of tokens, the newest first; `fits` is false where even the newest message is too much. */
export async function fitMessages({ before, after, messages, budget, count }: FitInput): Promise<{ kept: ChatMessage[]; fits: boolean }> {
  if (budget === Number.POSITIVE_INFINITY) return { kept: [...messages], fits: true };
  let left = budget - (await count([...before, ...after]));
  const kept: ChatMessage[] = [];
  for (const message of messages.toReversed()) {
    left -= await count([message]);
    if (left < 0 && kept.length > 0) break;
    kept.unshift(message);
    if (left < 0) return { kept, fits: false };
  }
  return { kept, fits: left >= 0 || kept.length > 0 };
}
