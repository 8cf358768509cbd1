import type { ChatMessage } from "../../upstream/providers/provider.ts";

interface FitInput {
  /** Always sent: the instructions before the messages, the run's own turns after them. */
  readonly before: readonly ChatMessage[];
  readonly after: readonly ChatMessage[];
  /** The thread's messages, oldest first. The oldest are dropped first; the newest is never dropped. */
  readonly messages: readonly ChatMessage[];
  readonly budget: number;
  readonly count: (messages: readonly ChatMessage[]) => Promise<number>;
}

/** The newest messages of a thread that fit a number of tokens. `fits` is false if even the newest message does not. */
export async function fitMessages({
  before,
  after,
  messages,
  budget,
  count,
}: FitInput): Promise<{ fitting: ChatMessage[]; fits: boolean }> {
  if (budget === Number.POSITIVE_INFINITY) return { fitting: [...messages], fits: true };
  let left = budget - (await count([...before, ...after]));
  const fitting: ChatMessage[] = [];
  for (const message of messages.toReversed()) {
    left -= await count([message]);
    if (left < 0 && fitting.length > 0) break;
    fitting.unshift(message);
    if (left < 0) return { fitting, fits: false };
  }
  return { fitting, fits: left >= 0 || fitting.length > 0 };
}
