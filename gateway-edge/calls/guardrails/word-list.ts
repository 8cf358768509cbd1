import { z } from "zod";
import { type Guardrail, type GuardrailBase, PATTERN_REACH } from "./guardrail.ts";
import { applyRules, REDACTED } from "./regex.ts";

const schema = z.object({
  words: z.array(z.string().trim().min(1).max(PATTERN_REACH)).min(1),
  action: z
    .enum(["block", "mask", "BLOCK", "MASK"])
    .default("block")
    .transform((text) => text.toLowerCase() as "block" | "mask"),
});

/** Whole words or phrases, case-insensitive. */
export function wordListGuardrail(base: GuardrailBase, params: unknown): Guardrail {
  const { words, action } = schema.parse(params);
  // Not \b, which matches only ASCII letters.
  const alternatives = words
    .toSorted((left, right) => right.length - left.length)
    .map((word) => word.split(/\s+/).map(escaped).join("\\s+"))
    .join("|");
  const expression = new RegExp(`(?<![\\p{L}\\p{N}_])(?:${alternatives})(?![\\p{L}\\p{N}_])`, "giu");
  return {
    ...base,
    reach: PATTERN_REACH,
    check: (texts) => applyRules([{ expression, label: "a word of the list", mask: REDACTED, action }], texts),
  };
}

function escaped(word: string): string {
  return word.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
}
