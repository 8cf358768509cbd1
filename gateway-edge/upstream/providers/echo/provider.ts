import { echo as declaration } from "../../../../common/providers/echo.ts";
import { paramsOf } from "../../../../common/providers/shared/params.ts";
import { openAiChatBody, readOpenAiAnswer, readOpenAiError, readOpenAiStream } from "../openai-compatible/answer.ts";
import { readOpenAiEmbeddings } from "../openai-compatible/vectors.ts";
import type { Fields, FormCall, Provider, UpstreamRequest } from "../provider.ts";
import { asFields } from "../shared/json-fields.ts";
import { readMediaUsage } from "../shared/media-usage.ts";
import { readRerankAnswer } from "../shared/rerank-answer.ts";
import { messageText, splitTokens } from "./tokens.ts";

const BASE = "echo://local/v1";

/**
 * The built-in provider: repeats the last user message, and answers every other request. Deterministic, with true usage, called like any
 * upstream.
 */
export const echo: Provider = {
  kind: declaration.kind,
  chat: {
    supportedParams: paramsOf(declaration, "chat"),
    framing: "sse",
    buildRequest: (call, target) => ({
      url: `${BASE}/chat/completions`,
      headers: { "content-type": "application/json" },
      body: openAiChatBody(call, target),
    }),
    readAnswer: readOpenAiAnswer,
    readStream: readOpenAiStream,
  },
  speech: { buildRequest: ({ body }) => jsonTo("audio/speech", body) },
  transcriptions: { buildRequest: (call) => uploadTo("audio/transcriptions", call) },
  translations: { buildRequest: (call) => uploadTo("audio/translations", call) },
  images: {
    streams: true,
    buildRequest: ({ body }) => jsonTo("images/generations", body),
    readAnswer: (body) => ({ answer: asFields(body), usage: readMediaUsage(body) }),
  },
  imageEdits: { buildRequest: (call) => uploadTo("images/edits", call) },
  rerank: {
    buildRequest: ({ query, documents, topN }) => jsonTo("rerank", { query, documents, top_n: topN }),
    readAnswer: readRerankAnswer,
  },
  embeddings: {
    supportedParams: paramsOf(declaration, "embeddings"),
    takesTokens: true,
    buildRequest: ({ input, dimensions }) => jsonTo("embeddings", { input, ...(dimensions === undefined ? {} : { dimensions }) }),
    readAnswer: readOpenAiEmbeddings,
  },
  moderations: {
    buildRequest: ({ body }) => jsonTo("moderations", body),
    readAnswer: (body) => asFields(body),
  },
  readError: readOpenAiError,
  counter: {
    countMessages: (messages) => messages.reduce((sum, message) => sum + Math.max(1, splitTokens(messageText(message)).length), 0),
    countText: (text) => splitTokens(text).length,
  },
};

function jsonTo(operation: string, fields: Fields): UpstreamRequest {
  return { url: `${BASE}/${operation}`, headers: { "content-type": "application/json" }, body: JSON.stringify(fields) };
}

function uploadTo(operation: string, call: FormCall): UpstreamRequest {
  return { url: `${BASE}/${operation}`, headers: { "content-type": "application/json" }, body: describeUpload(call) };
}

/** Echo answers an upload with the sizes of its files and stores nothing of them. */
async function* describeUpload({ fields, files, laterFields }: FormCall): AsyncGenerator<Uint8Array> {
  const seen: { name: string; bytes: number }[] = [];
  for (const { name, content } of files) {
    let bytes = 0;
    for await (const piece of content) bytes += piece.length;
    seen.push({ name, bytes });
  }
  const all = [...fields, ...((await laterFields?.()) ?? [])];
  yield Buffer.from(JSON.stringify({ fields: Object.fromEntries(all), files: seen }));
}
