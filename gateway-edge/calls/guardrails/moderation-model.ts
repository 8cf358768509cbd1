import { z } from "zod";
import { ALLOW, type Guardrail, type GuardrailBase, type GuardrailContext } from "./guardrail.ts";

const schema = z.object({ model: z.string().min(1), categories: z.array(z.string()).optional() });
const answer = z.object({
  results: z.array(z.looseObject({ flagged: z.boolean(), categories: z.record(z.string(), z.boolean().nullable()).default({}) })),
});

/** Calls a moderation model of this gateway; a separate call, billed to the same caller. */
export type Moderate = (question: { model: string; texts: readonly string[] }, context: GuardrailContext) => Promise<unknown>;

/** A moderation model's verdict: blocks what it flags, in any category or in the configured ones. */
export function moderationModelGuardrail(base: GuardrailBase, params: unknown, moderate: Moderate): Guardrail {
  const { model, categories } = schema.parse(params);
  return {
    ...base,
    // A model judges the text as a whole, in one call.
    reach: Number.POSITIVE_INFINITY,
    check: async (given, context) => {
      const texts = given.filter((text) => text.trim() !== "");
      if (texts.length === 0) return ALLOW;
      const { results } = answer.parse(await moderate({ model, texts }, context));
      const flags = results.flatMap((result) => (result.flagged || categories ? flagsOf(result, categories) : []));
      return flags.length === 0 ? ALLOW : { action: "block", reason: `it was flagged (${[...new Set(flags)].join(", ")})` };
    },
  };
}

function flagsOf(result: z.output<typeof answer>["results"][number], wanted: readonly string[] | undefined): string[] {
  const flagged = Object.entries(result.categories).flatMap(([name, isFlagged]) => (isFlagged ? [name] : []));
  if (wanted) return flagged.filter((name) => wanted.includes(name));
  return flagged.length > 0 ? flagged : ["flagged"];
}
