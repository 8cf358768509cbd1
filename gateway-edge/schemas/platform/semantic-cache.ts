import { z } from "zod";
import { plainText } from "../fields.ts";

const threshold = z.number().gt(0).max(1);

/** Null leaves it to the operator. */
export const semanticCacheField = z
  .object({
    enabled: z.boolean(),
    threshold: threshold.nullish().describe("The least similarity of a hit; the operator's unless set."),
    embeddingModel: plainText(200).nullish().describe("The model of the vectors; the operator's unless set."),
  })
  .nullish()
  .describe("Answer a call with the cached answer to a similar text, where the operator offers it; null: as the operator decided.");

export const semanticCacheRecord = z
  .object({ enabled: z.boolean(), threshold: threshold.nullable(), embeddingModel: z.string().nullable() })
  .nullable();
