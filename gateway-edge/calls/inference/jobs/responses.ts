import { AppError } from "../../../../common/errors.ts";
import type { ChatAnswer, Fields, Provider, ProviderTarget, ResponsesAdapter, TokenCounter } from "../../../upstream/providers/provider.ts";
import { readEvents } from "../../../upstream/transports/framing.ts";
import type { Job } from "../job.ts";
import { providerFields } from "./gateway-fields.ts";

/** A response as the provider wrote it. */
export interface ProxiedResponse {
  readonly response: Fields;
}

export type ResponsesAnswer = ChatAnswer | ProxiedResponse;

export interface ResponsesJobInput {
  readonly model: string;
  readonly stream: boolean;
  readonly maxOutputTokens: number | undefined;
  readonly endUser: string | undefined;
  readonly tags: readonly string[];
  /** The request as it arrived. */
  readonly request: Fields;
  /** The body for a server that has the Responses API. */
  bodyFor(speaker: { readonly reasons: boolean }): Fields;
  /** The same as a chat; throws for a field that chat does not have. */
  asChat(): Job<ChatAnswer>;
}

/** A request to the Responses API: unchanged where the deployment's server has that API, otherwise as a chat. */
export function responsesJob(call: ResponsesJobInput): Job<ResponsesAnswer> {
  const { model, stream, maxOutputTokens, endUser, tags } = call;
  const chat = translationOf(call);
  return {
    operation: "responses",
    model,
    stream,
    choiceCount: 1,
    maxOutputTokens,
    maxOutputParam: "max_output_tokens",
    endUser,
    tags,
    countInput: (counter) => ("job" in chat() ? chatIn(chat()).countInput(counter) : countBody(call, counter)),
    get offer() {
      return "job" in chat() ? "responses" : "responses-untranslated";
    },
    isOfferedBy: (provider, target) => speaker(provider, target) !== undefined || ("job" in chat() && provider.chat !== undefined),
    request: (given) => {
      const { provider, target, maxOutputTokens: limit } = given;
      const adapter = speaker(provider, target);
      if (!adapter) return chatIn(chat()).request(given);
      const body = providerFields(call.bodyFor({ reasons: adapter.reasons(target) }));
      return adapter.buildRequest({ body, stream, maxOutputTokens: limit }, target);
    },
    readAnswer: (provider, body, target) => {
      const adapter = speaker(provider, target);
      if (!adapter) return chatIn(chat()).readAnswer(provider, body, target);
      const { response, usage, text } = adapter.readAnswer(body);
      return { answer: { response }, usage, texts: [text] };
    },
    readStream: (provider, bytes, target) => {
      const adapter = speaker(provider, target);
      return adapter ? adapter.readStream(readEvents("sse", bytes)) : chatIn(chat()).readStream(provider, bytes, target);
    },
    traits: () => ({
      request: call.request,
      // Guardrails read chat requests: a request that they must read is sent as a chat, whatever the deployment.
      readable: () =>
        chatIn(chat(), "Guardrails apply to this call, so it is sent as a chat completion. ") as unknown as Job<ResponsesAnswer>,
    }),
  };
}

/** The provider's adapter, if the server of this deployment has the Responses API. */
export function speaker(provider: Provider, target: ProviderTarget): ResponsesAdapter | undefined {
  return provider.responses?.isSpokenBy(target) ? provider.responses : undefined;
}

type Translation = { readonly job: Job<ChatAnswer> } | { readonly refusal: AppError };

/** Computed once, on first use. */
function translationOf(call: ResponsesJobInput): () => Translation {
  let known: Translation | undefined;
  return () => {
    known ??= translate(call);
    return known;
  };
}

function translate(call: ResponsesJobInput): Translation {
  try {
    return { job: call.asChat() };
  } catch (thrown) {
    if (thrown instanceof AppError) return { refusal: thrown };
    throw thrown;
  }
}

function chatIn(translation: Translation, why = ""): Job<ChatAnswer> {
  if ("job" in translation) return translation.job;
  const { code, message, param, cause } = translation.refusal;
  throw new AppError(code, why + message, { param, cause });
}

function countBody({ bodyFor }: ResponsesJobInput, counter: TokenCounter): number {
  const { input, instructions, tools } = bodyFor({ reasons: false });
  // Images and files are not counted by their characters.
  const text = JSON.stringify([input, instructions, tools], (_name, value) => (isData(value) ? "" : value));
  return counter.countText(text);
}

function isData(value: unknown): boolean {
  return typeof value === "string" && value.startsWith("data:");
}
