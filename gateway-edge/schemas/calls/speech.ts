import { z } from "zod";
import { AppError } from "../../../common/errors.ts";
import { parseRequest, type WithoutNulls } from "../request-body.ts";
import { timeoutFields } from "./timeout-fields.ts";

const INPUT_CHARACTERS_MAX = 4096;

/** A text-to-speech request. Unlisted fields are passed to the provider unchanged. */
export const speechRequest = z.looseObject({
  model: z.string().min(1).max(256),
  input: z.string(),
  voice: z
    .union([z.string().min(1), z.looseObject({ id: z.string().min(1) })], { error: () => "must be a string or an object with an id" })
    .nullish(),
  instructions: z.string().max(4096).nullish(),
  response_format: z.enum(["mp3", "opus", "aac", "flac", "wav", "pcm"]).nullish(),
  speed: z.number().min(0.25).max(4).nullish(),
  stream_format: z.enum(["audio", "sse"]).nullish(),
  ...timeoutFields,
});

export type SpeechRequest = WithoutNulls<z.output<typeof speechRequest>>;

export function parseSpeechRequest(body: unknown, pathModel?: string): SpeechRequest {
  const request = parseRequest(speechRequest, body, pathModel);
  const count = characterCount(request.input);
  if (count === 0) throw refuse("must not be empty");
  if (count > INPUT_CHARACTERS_MAX) throw refuse(`must have at most ${INPUT_CHARACTERS_MAX} characters`);
  return request;
}

/** Counts code points, as price lists do. */
export function characterCount(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

function refuse(message: string): AppError {
  return new AppError("INVALID_REQUEST", `input: ${message}`, { param: "input" });
}
