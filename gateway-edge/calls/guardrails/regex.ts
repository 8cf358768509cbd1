import { z } from "zod";
import { ALLOW, type Guardrail, type GuardrailBase, maskedOr, PATTERN_REACH } from "./guardrail.ts";

const action = z.enum(["block", "mask", "BLOCK", "MASK"]).transform((text) => text.toLowerCase() as "block" | "mask");
const pattern = z.union([
  z.string().transform((text) => ({ pattern: text, name: undefined, action: undefined })),
  z.object({ pattern: z.string(), name: z.string().optional(), action: action.optional() }),
]);
const schema = z.object({ patterns: z.array(pattern).min(1), action: action.default("block") });

/** Replaces a match of a pattern without a name. */
export const REDACTED = "[REDACTED]";

interface Rule {
  readonly expression: RegExp;
  readonly label: string;
  readonly mask: string;
  readonly action: "block" | "mask";
}

/** The operator's own patterns: each blocks, or masks its matches. */
export function regexGuardrail(base: GuardrailBase, params: unknown): Guardrail {
  const given = schema.parse(params);
  const rules = given.patterns.map(({ pattern: source, name, action: own }, place): Rule => {
    return { expression: compilePattern(source), label: name ?? `pattern ${place + 1}`, mask: maskOf(name), action: own ?? given.action };
  });
  return { ...base, reach: PATTERN_REACH, check: (texts) => applyRules(rules, texts) };
}

/** Python's `(?i)` at the start, which LiteLLM's files have, is a flag here. */
function compilePattern(source: string): RegExp {
  const match = /^\(\?([ims]+)\)/.exec(source);
  return match ? new RegExp(source.slice(match[0].length), `g${match[1] ?? ""}`) : new RegExp(source, "g");
}

export function applyRules(rules: readonly Rule[], texts: readonly string[]) {
  for (const { expression, label, action: todo } of rules) {
    if (todo === "block" && texts.some((text) => text.search(expression) >= 0)) {
      return { action: "block", reason: `it matches ${label}` } as const;
    }
  }
  const masking = rules.filter((rule) => rule.action === "mask");
  if (masking.length === 0) return ALLOW;
  const masked = texts.map((text) => masking.reduce((rest, { expression, mask }) => rest.replace(expression, () => mask), text));
  return maskedOr(texts, masked);
}

function maskOf(name: string | undefined): string {
  return name === undefined ? REDACTED : `[${name.toUpperCase().replaceAll(/[^A-Z0-9]+/g, "_")}]`;
}
