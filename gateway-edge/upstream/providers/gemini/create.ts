import { paramsOf } from "../../../../common/providers/shared/params.ts";
import type { ProviderKind } from "../../../../common/providers/shared/provider-kind.ts";
import type { CountCall, EmbeddingsAnswer, EmbeddingsCall, Provider, ProviderTarget, UpstreamRequest } from "../provider.ts";
import { readGeminiAnswer } from "./answer.ts";
import { readTotalTokens } from "./count.ts";
import { readGeminiError } from "./errors.ts";
import { geminiBody } from "./request.ts";
import { readGeminiStream } from "./stream.ts";

/** The differences between Google's two APIs for Gemini. */
export interface GeminiSpec {
  readonly declaration: ProviderKind;
  /** A method of the model's URL, with a JSON body. */
  readonly requestTo: (target: ProviderTarget, method: string, body: string) => UpstreamRequest;
  readonly embeddings: {
    readonly method: string;
    batchMax(inferenceModelId: string): number;
    body(call: EmbeddingsCall, target: ProviderTarget): string;
    readAnswer(body: unknown): EmbeddingsAnswer;
  };
  readonly count: { readonly tokenizer: string; body(call: CountCall, target: ProviderTarget): string };
}

/** Gemini by one of Google's two APIs: chat is the same in both. */
export function createGeminiProvider({ declaration, requestTo, embeddings, count }: GeminiSpec): Provider {
  return {
    kind: declaration.kind,
    chat: {
      supportedParams: paramsOf(declaration, "chat"),
      framing: "sse",
      readsDocumentUrls: true,
      buildRequest: (call, target) =>
        requestTo(target, call.stream ? "streamGenerateContent?alt=sse" : "generateContent", geminiBody(call, target)),
      readAnswer: readGeminiAnswer,
      readStream: readGeminiStream,
    },
    embeddings: {
      supportedParams: paramsOf(declaration, "embeddings"),
      takesTokens: false,
      batchMax: embeddings.batchMax,
      buildRequest: (call, target) => requestTo(target, embeddings.method, embeddings.body(call, target)),
      readAnswer: embeddings.readAnswer,
    },
    readError: readGeminiError,
    remoteCount: {
      tokenizer: count.tokenizer,
      takesContents: true,
      buildRequest: (call, target) => requestTo(target, "countTokens", count.body(call, target)),
      readAnswer: readTotalTokens,
    },
  };
}
