import { AppError } from "../../../../common/errors.ts";
import type { ChatAnswer, Fields, Provider, ProviderTarget, ResponsesAdapter, TokenCounter } from "../../../upstream/providers/provider.ts";
import { readEvents } from "../../../upstream/transports/framing.ts";
import type { Job } from "../job.ts";
import { providerFields } from "./gateway-fields.ts";

/** A response as its provider wrote it. */
export interface ProxiedResponse {
  readonly response: Fields;
}

export type ResponsesAnswer = ChatAnswer | ProxiedResponse;

export interface ResponsesCall {
  readonly model: string;
  readonly stream: boolean;
  readonly maxOutputTokens: number | undefined;
  readonly endUser: string | undefined;
  readonly tags: readonly string[];
  /** The request as it came. */
  readonly request: Fields;
  /** What goes to a server that speaks this API. */
  bodyFor(speaker: { readonly reasons: boolean }): Fields;
  /** The same as a chat; throws what chat has no words for. */
  asChat(): Job<ChatAnswer>;
}

/** A request to the Responses API: as it is where the deployment's server speaks it, as a chat where not. */
export function responsesJob(call: ResponsesCall): Job<ResponsesAnswer> {
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
      // Guardrails know the words of chat: what they must read is made as one, wherever it goes.
      readable: () => chatIn(chat(), "Guardrails hold for this call, so it is made as a chat. ") as unknown as Job<ResponsesAnswer>,
    }),
  };
}

/** Whether some server of this provider's speaks the API at this deployment. */
export function speaker(provider: Provider, target: ProviderTarget): ResponsesAdapter | undefined {
  return provider.responses?.isSpokenBy(target) ? provider.responses : undefined;
}

type Translation = { readonly job: Job<ChatAnswer> } | { readonly refusal: AppError };

/** Made once, and only when somebody asks. */
function translationOf(call: ResponsesCall): () => Translation {
  let known: Translation | undefined;
  return () => {
    known ??= translate(call);
    return known;
  };
}

function translate(call: ResponsesCall): Translation {
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

function countBody({ bodyFor }: ResponsesCall, counter: TokenCounter): number {
  const { input, instructions, tools } = bodyFor({ reasons: false });
  // Pictures and files are not counted by their letters.
  const text = JSON.stringify([input, instructions, tools], (_name, value) => (isData(value) ? "" : value));
  return counter.countText(text);
}

function isData(value: unknown): boolean {
  return typeof value === "string" && value.startsWith("data:");
}
