import type { CancelSignal } from "../../../common/cancel.ts";
import type { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import type { Vault } from "./vault.ts";

/** Before the request is sent, or before the answer is shown. */
export type Stage = "pre" | "post";

/** What a guardrail decides about texts. */
export type Verdict =
  | { readonly action: "allow" }
  /** `reason` is for the caller: it says what was found and never quotes the text. */
  | { readonly action: "block"; readonly reason: string }
  /** New texts in the same places. */
  | { readonly action: "mask"; readonly texts: readonly string[] };

/** A check of requests to a provider, of answers, or of both. What it throws fails the call: a guardrail never fails open. */
export interface Guardrail {
  readonly name: string;
  /** regex, word-list, ...: as the configuration file names it. */
  readonly kind: string;
  readonly stage: Stage | "both";
  /** Applies to every call, whatever key makes it. */
  readonly byDefault: boolean;
  /** False: its name is known, and no call is checked. */
  readonly enabled: boolean;
  /** How many characters a finding can span; a stream holds back that much. Infinity: only the whole text can be judged. */
  readonly reach: number;
  check(texts: readonly string[], context: GuardrailContext): Verdict | Promise<Verdict>;
}

/** The fields of a guardrail that come from its entry in the configuration file. */
export type GuardrailBase = Pick<Guardrail, "name" | "kind" | "stage" | "byDefault" | "enabled">;

/** The call that a guardrail checks. */
export interface GuardrailContext {
  readonly stage: Stage;
  readonly callId: string;
  readonly caller: Caller;
  readonly signal: CancelSignal;
  /** Values that were masked in this call, so that they can be restored. */
  readonly vault: Vault;
}

/** The verdict for texts without a finding. */
export const ALLOW: Verdict = { action: "allow" };

/** The longest finding of a pattern that is found in a stream, in characters. */
export const PATTERN_REACH = 256;

/** A `mask` verdict where a text changed, `allow` where none did. */
export function maskedOr(before: readonly string[], after: readonly string[]): Verdict {
  return before.every((text, place) => text === after[place]) ? ALLOW : { action: "mask", texts: after };
}
