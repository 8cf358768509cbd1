import { z } from "zod";
import { ALLOW, type Guardrail, type GuardrailBase } from "./guardrail.ts";

const count = z.int().min(1).optional();
const schema = z.object({ max_characters: count, max_texts: count });

/** Limits the size of a request, all its texts together. */
export function promptSizeGuardrail(base: GuardrailBase, params: unknown): Guardrail {
  const { max_characters: charactersMax = Number.POSITIVE_INFINITY, max_texts: textsMax = Number.POSITIVE_INFINITY } = schema.parse(params);
  return {
    ...base,
    stage: "pre",
    reach: 0,
    check: (texts) => {
      const characters = texts.reduce((sum, text) => sum + text.length, 0);
      if (characters > charactersMax) return { action: "block", reason: `it has ${characters} characters, the limit is ${charactersMax}` };
      if (texts.length > textsMax) return { action: "block", reason: `it has ${texts.length} texts, the limit is ${textsMax}` };
      return ALLOW;
    },
  };
}
