import type { StreamPart } from "../../upstream/providers/provider.ts";

/** Why the gateway itself ended an answer. */
export type FinishCause = NonNullable<Extract<StreamPart, { type: "finish" }>["cause"]>;

const MESSAGES: Readonly<Record<FinishCause, string>> = {
  credits_used_up: "The credits reserved for this call are used up and no more are available. Buy credits and try again.",
};

/** The same text in every API, beside the field that says that the answer was cut short. */
export function finishDetails(cause: FinishCause): { readonly type: FinishCause; readonly message: string } {
  return { type: cause, message: MESSAGES[cause] };
}
