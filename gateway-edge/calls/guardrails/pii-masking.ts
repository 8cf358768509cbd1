import { z } from "zod";
import { type Guardrail, type GuardrailBase, type GuardrailContext, maskedOr, PATTERN_REACH, type Verdict } from "./guardrail.ts";
import { maskPii, PII_KINDS, PII_NAMES, type PiiKind } from "./pii-patterns.ts";
import type { Vault } from "./vault.ts";

const schema = z.object({
  entities: z.array(z.enum(PII_NAMES as [string, ...string[]])).optional(),
  action: z
    .enum(["block", "mask", "BLOCK", "MASK"])
    .default("mask")
    .transform((text) => text.toLowerCase()),
  unmask: z.boolean().optional(),
  /** LiteLLM's name of this setting. */
  output_parse_pii: z.boolean().optional(),
});

/** Personal data: masked before a provider sees it and, if configured, restored in the answer; or refused. */
export function piiMaskingGuardrail(base: GuardrailBase, params: unknown): Guardrail {
  const { entities, action, unmask, output_parse_pii: parse } = schema.parse(params);
  const kinds = PII_KINDS.filter(({ kind }) => entities === undefined || entities.includes(kind));
  const restores = (unmask ?? parse ?? false) && base.stage !== "post";
  const masksAnswers = base.stage !== "pre";
  return {
    ...base,
    stage: restores ? "both" : base.stage,
    reach: PATTERN_REACH,
    check: (texts, context) => {
      if (action === "block") return refuse(kinds, texts);
      return context.stage === "pre" ? mask(kinds, texts, context.vault) : readBack(texts, context, { kinds, restores, masksAnswers });
    },
  };
}

function refuse(kinds: readonly PiiKind[], texts: readonly string[]): Verdict {
  for (const { kind, expression, isReal } of kinds) {
    const isThere = texts.some((text) => text.match(expression)?.some((found) => isReal?.(found) ?? true));
    if (isThere) return { action: "block", reason: `it contains personal data (${kind})` };
  }
  return { action: "allow" };
}

function mask(kinds: readonly PiiKind[], texts: readonly string[], vault: Vault): Verdict {
  return maskedOr(
    texts,
    texts.map((text) => maskPii(kinds, text, (kind, found) => vault.placeholderFor(kind, found))),
  );
}

function readBack(
  texts: readonly string[],
  { vault }: GuardrailContext,
  { kinds, restores, masksAnswers }: { kinds: readonly PiiKind[]; restores: boolean; masksAnswers: boolean },
): Verdict {
  // Personal data that only the answer has gets a mask without a number: only the caller's own data is restored.
  const clean = masksAnswers ? texts.map((text) => maskPii(kinds, text, (kind) => `[${kind}]`)) : texts;
  return maskedOr(texts, restores ? clean.map((text) => vault.restore(text)) : clean);
}
