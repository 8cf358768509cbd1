import { z } from "zod";
import { parseRequest, type WithoutNulls } from "../request-body.ts";

const part = z.looseObject({ type: z.string() });

/** A moderation request: a text, texts, or parts of text and images. */
export const moderationsRequest = z.looseObject({
  model: z.string().min(1).max(256),
  input: z.union([z.string(), z.array(z.string()).min(1).max(2048), z.array(part).min(1).max(64)], {
    error: () => "must be a string, strings, or parts of text and images",
  }),
});

export type ModerationsRequest = WithoutNulls<z.output<typeof moderationsRequest>>;

export function parseModerationsRequest(body: unknown): ModerationsRequest {
  return parseRequest(moderationsRequest, body);
}
