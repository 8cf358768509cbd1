import { z } from "zod";
import { AppError } from "../../../common/errors.ts";
import type { FormField } from "../../upstream/providers/provider.ts";
import { parseRequest, type WithoutNulls } from "../request-body.ts";
import { formFile, formFlag, formList, formNumber, formObject } from "./form-fields.ts";

const shared = {
  model: z.string().min(1).max(256),
  prompt: z.string().optional(),
  temperature: formNumber(0, 1).optional(),
};

/** The form of a transcription. Unlisted fields are passed to the provider unchanged. */
export const transcriptionsRequest = z.looseObject({
  file: formFile,
  ...shared,
  language: z.string().max(32).optional(),
  response_format: z.enum(["json", "text", "srt", "verbose_json", "vtt", "diarized_json"]).optional(),
  timestamp_granularities: formList(z.enum(["word", "segment"])).optional(),
  include: formList(z.string()).optional(),
  stream: formFlag.optional(),
});

export const translationsRequest = z.looseObject({
  file: formFile,
  ...shared,
  response_format: z.enum(["json", "text", "srt", "verbose_json", "vtt"]).optional(),
});

export type TranscriptionsRequest = WithoutNulls<z.output<typeof transcriptionsRequest>>;

/** Parses the fields of a form; throws UNPROCESSABLE with all errors. */
export function parseAudioForm(
  operation: "transcriptions" | "translations",
  fields: readonly FormField[],
  pathModel?: string,
): TranscriptionsRequest {
  const schema = operation === "transcriptions" ? transcriptionsRequest : translationsRequest;
  const { file, ...given } = formObject(fields);
  // A plain field of this name is a path or bytes without a file name; providers accept neither.
  if (file !== undefined) throw new AppError("INVALID_REQUEST", "file: must be sent as a file, with a file name", { param: "file" });
  return parseRequest(schema, given, pathModel) as TranscriptionsRequest;
}
