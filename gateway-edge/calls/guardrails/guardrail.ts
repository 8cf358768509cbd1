import type { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import type { Vault } from "./vault.ts";

export type Stage = "pre" | "post";

export type Verdict =
  | { readonly action: "allow" }
  /** `reason` is for the caller: it names what was found, never the text itself. */
  | { readonly action: "block"; readonly reason: string }
  /** Other texts in the places of those that were given. */
  | { readonly action: "mask"; readonly texts: readonly string[] };

/** A check of what goes to a provider, of what comes back, or of both. What it throws fails the call: a guardrail never fails open. */
export interface Guardrail {
  readonly name: string;
  /** regex, word-list, ...: as the configuration file calls it. */
  readonly kind: string;
  readonly stage: Stage | "both";
  /** Holds for every call, whoever makes it. */
  readonly byDefault: boolean;
  /** How many characters a finding can span; in a stream that much is held back. Infinity: only the whole text can be judged. */
  readonly reach: number;
  check(texts: readonly string[], context: GuardrailContext): Verdict | Promise<Verdict>;
}

/** What every guardrail has of its entry in the configuration file. */
export type GuardrailBase = Pick<Guardrail, "name" | "kind" | "stage" | "byDefault">;

export interface GuardrailContext {
  readonly stage: Stage;
  readonly callId: string;
  readonly caller: Caller;
  readonly signal: AbortSignal;
  /** What was masked in this call, so that it can be put back. */
  readonly vault: Vault;
}

export const ALLOW: Verdict = { action: "allow" };

/** The longest finding of a pattern that is caught in a stream, in characters. */
export const PATTERN_REACH = 256;

/** Masks where something changed, allows where nothing did. */
export function maskedOr(before: readonly string[], after: readonly string[]): Verdict {
  return before.every((text, place) => text === after[place]) ? ALLOW : { action: "mask", texts: after };
}
