import type { StreamPart } from "../../upstream/providers/provider.ts";

/** Why the gateway itself ended an answer. */
export type FinishCause = NonNullable<Extract<StreamPart, { type: "finish" }>["cause"]>;

const MESSAGES: Readonly<Record<FinishCause, string>> = {
  credits_used_up: "The credits set aside for this call are used up and no more can be had. Buy credits and ask again.",
};

/** The same text in every API, beside the field that says that the answer was cut short. */
export function finishDetails(cause: FinishCause): { readonly type: FinishCause; readonly message: string } {
  return { type: cause, message: MESSAGES[cause] };
}
