import { AppError } from "./errors.ts";

/** What an API key may be used for; a key without scopes may be used for all of it. */
export const KEY_SCOPES = ["inference", "train"] as const;
export type KeyScope = (typeof KEY_SCOPES)[number];

interface ScopedCaller {
  readonly scopes?: { readonly names: readonly string[] } | undefined;
}

const REFUSALS = {
  inference: ["MODEL_NOT_ALLOWED", "This API key may not make calls. Use one whose scopes include inference."],
  train: ["FORBIDDEN", "This API key may not be used for training. Use one whose scopes include train, or log in."],
} as const;

export function requireScope({ scopes }: ScopedCaller, scope: KeyScope): void {
  if (!scopes || scopes.names.includes(scope)) return;
  const [code, message] = REFUSALS[scope];
  throw new AppError(code, message);
}
