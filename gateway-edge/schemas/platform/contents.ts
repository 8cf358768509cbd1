import { z } from "zod";

const DAYS_MAX = 90;

/** Whether prompts and answers are stored, and for how many days. */
export const contentFields = {
  logContent: z
    .boolean()
    .optional()
    .describe("Store prompts and answers of calls, sealed. Only for owners and admins of the organization."),
  logContentDays: z.int().min(1).max(DAYS_MAX).optional().describe("For how many days; 30 unless set."),
};
/** The same for a key: null leaves it to the organization. */
export const keyContentFields = {
  logContent: z
    .boolean()
    .nullish()
    .describe("Store prompts and answers of this key's calls; null: as the organization. Only for owners and admins of the organization."),
  logContentDays: z.int().min(1).max(DAYS_MAX).nullish(),
};

const fields = z.record(z.string(), z.unknown());

export const callContentRecord = z
  .object({
    prompt: fields.describe(
      "The fields of the request with text (`messages`, `input`, `prompt`, ...), redacted, and `parameters`: the model and the settings.",
    ),
    promptTruncated: z.boolean().describe("The prompt was longer than 64 KB."),
    answer: fields.nullable().describe("What the client received, redacted; null: no answer, or one that is not text."),
    answerTruncated: z.boolean(),
    createdAt: z.date(),
    expiresAt: z.date().describe("When it is removed."),
  })
  .meta({ id: "CallContent" });

export const contentAnswer = z.object({ content: callContentRecord });
