import { z } from "zod";
import { imageEditsRequest, imagesRequest } from "../../../schemas/calls/images.ts";
import { rerankRequest } from "../../../schemas/calls/rerank.ts";
import { speechRequest } from "../../../schemas/calls/speech.ts";
import { transcriptionsRequest, translationsRequest } from "../../../schemas/calls/transcriptions.ts";
import type { OperationDescription, ResponseDescription } from "../../../schemas/operation-description.ts";

const onDeployment = (operation: string) => [`/${operation}`, `/v1/${operation}`, `/openai/deployments/:model/${operation}`] as const;
export const SPEECH_PATHS = onDeployment("audio/speech");
export const TRANSCRIPTIONS_PATHS = onDeployment("audio/transcriptions");
export const TRANSLATIONS_PATHS = onDeployment("audio/translations");
export const IMAGES_PATHS = onDeployment("images/generations");
export const IMAGE_EDITS_PATHS = onDeployment("images/edits");
export const RERANK_PATHS = ["/rerank", "/v1/rerank", "/v2/rerank"] as const;

const transcript = z.looseObject({ text: z.string(), usage: z.looseObject({ type: z.string() }).optional() });
const images = z.looseObject({
  created: z.int(),
  data: z.array(z.looseObject({ url: z.string().optional(), b64_json: z.string().optional() })),
});
const ranking = z.looseObject({
  id: z.string(),
  results: z.array(z.looseObject({ index: z.int(), relevance_score: z.number() })),
  meta: z.looseObject({ billed_units: z.looseObject({ search_units: z.number() }) }),
});

const answer = (schema: z.ZodType): ResponseDescription => ({ description: "The response.", schema });

interface MediaOperation {
  readonly paths: readonly string[];
  readonly summary: string;
  readonly tag: string;
  readonly body: z.ZodObject;
  readonly isForm?: true;
  readonly answer: ResponseDescription;
}

const OPERATIONS: readonly MediaOperation[] = [
  {
    paths: SPEECH_PATHS,
    summary: "Create speech from text; events instead of bytes if `stream_format` is sse",
    tag: "audio",
    body: speechRequest,
    answer: { description: "The audio, streamed.", schema: z.unknown(), contentType: "audio/*" },
  },
  {
    paths: TRANSCRIPTIONS_PATHS,
    summary: "Transcribe audio; streamed if `stream` is true",
    tag: "audio",
    body: transcriptionsRequest,
    isForm: true,
    answer: answer(transcript),
  },
  {
    paths: TRANSLATIONS_PATHS,
    summary: "Translate audio to English text",
    tag: "audio",
    body: translationsRequest,
    isForm: true,
    answer: answer(transcript),
  },
  {
    paths: IMAGES_PATHS,
    summary: "Generate images; streamed if `stream` is true",
    tag: "images",
    body: imagesRequest,
    answer: answer(images),
  },
  {
    paths: IMAGE_EDITS_PATHS,
    summary: "Edit images; streamed if `stream` is true",
    tag: "images",
    body: imageEditsRequest,
    isForm: true,
    answer: answer(images),
  },
  {
    paths: RERANK_PATHS,
    summary: "Rank documents by relevance to a query",
    tag: "rerank",
    body: rerankRequest,
    answer: answer(ranking),
  },
];

/** The OpenAPI entries of audio, images and reranking. */
export function describeMediaOperations(refusals: Readonly<Record<number, ResponseDescription>>): OperationDescription[] {
  return OPERATIONS.flatMap(({ paths, summary, tag, body, isForm, answer: answered }) =>
    paths.map((path): OperationDescription => {
      const namesModel = path.includes(":model");
      return {
        method: "post",
        path,
        summary,
        tags: [tag],
        auth: "key",
        body: namesModel ? body.partial({ model: true }) : body,
        ...(isForm ? { bodyType: "multipart/form-data" } : {}),
        ...(namesModel ? { params: z.object({ model: z.string() }) } : {}),
        responses: { 200: answered, ...refusals },
      };
    }),
  );
}
