import { z } from "zod";
import { parseRequest, type WithoutNulls } from "../request-body.ts";
import { timeoutFields } from "./timeout-fields.ts";

const part = z.looseObject({ type: z.string() });

/** A moderation request: a string, strings, or text and image parts. */
export const moderationsRequest = z.looseObject({
  // As at OpenAI, whose clients leave it out.
  model: z.string().min(1).max(256).default("omni-moderation-latest"),
  input: z.union([z.string(), z.array(z.string()).min(1).max(2048), z.array(part).min(1).max(64)], {
    error: () => "must be a string, an array of strings, or an array of text and image parts",
  }),
  ...timeoutFields,
});

export type ModerationsRequest = WithoutNulls<z.output<typeof moderationsRequest>>;

export function parseModerationsRequest(body: unknown): ModerationsRequest {
  return parseRequest(moderationsRequest, body);
}
