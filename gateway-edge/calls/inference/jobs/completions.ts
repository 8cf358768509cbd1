import { AppError } from "../../../../common/errors.ts";
import { type CompletionsRequest, promptCount } from "../../../schemas/calls/completions.ts";
import type { ChatAnswer, CompletionsAdapter, CompletionsAnswer, TokenCounter } from "../../../upstream/providers/provider.ts";
import { readEvents } from "../../../upstream/transports/framing.ts";
import { countOtherFields } from "../../tokens/other-fields.ts";
import type { Job, JobAnswer } from "../job.ts";
import { keepSupported } from "../params.ts";
import { completionsTraits } from "../traits/completions.ts";
import { chatJob } from "./chat.ts";
import { logTagsOf, providerFields, tagsOf } from "./gateway-fields.ts";
import { choicesOfPrompts, repeatedChoices, requestOfChoice } from "./repeated-choices.ts";

/** Legacy text completion: by the provider's own endpoint, or, where it has none, as a chat with one user turn. */
export function completionsJob(request: CompletionsRequest): Job<CompletionsAnswer> {
  const stream = request.stream === true;
  return {
    operation: "completions",
    model: request.model,
    stream,
    echoesInput: request.echo === true,
    // The provider makes, and bills, as many as it chooses the best of.
    choiceCount: Math.max(request.n ?? 1, request.best_of ?? 1) * promptCount(request),
    maxOutputTokens: request.max_tokens ?? undefined,
    maxOutputParam: "max_tokens",
    endUser: request.user ?? undefined,
    tags: tagsOf(request),
    logTags: logTagsOf(request),
    countInput: (counter) => countPrompt(request, counter) + countOtherFields(providerFields(request), counter, ["prompt"]),
    isOfferedBy: (provider) => provider.completions !== undefined || provider.chat !== undefined,
    request: (attempt) => {
      const adapter = attempt.provider.completions;
      if (!adapter) return asChat(request).request(attempt);
      const supported = keepSupported(
        providerFields(request),
        adapter.supportedParams(attempt.target.inferenceModelId),
        attempt.dropParams,
      );
      return adapter.buildRequest({ body: supported, stream, maxOutputTokens: attempt.maxOutputTokens }, attempt.target);
    },
    pieces: (provider, target) => {
      if (provider.completions) return undefined;
      const count = request.n ?? 1;
      if (promptCount(request) > 1) {
        const prompts = request.prompt as readonly CompletionsRequest["prompt"][];
        return choicesOfPrompts(prompts, count, (prompt, choice) => completionsJob(requestOfChoice({ ...request, prompt }, choice)));
      }
      if (count === 1 || provider.chat?.supportedParams(target.inferenceModelId).includes("n")) return undefined;
      return repeatedChoices(count, (choice) => completionsJob(requestOfChoice(request, choice)));
    },
    readAnswer: (provider, body, target) =>
      provider.completions ? readNative(provider.completions, body) : fromChat(asChat(request).readAnswer(provider, body, target)),
    readStream: (provider, bytes, target) =>
      provider.completions
        ? provider.completions.readStream(readEvents("sse", bytes))
        : asChat(request).readStream(provider, bytes, target),
    traits: () => completionsTraits(request, (changed) => completionsJob(changed as CompletionsRequest)),
  };
}

function readNative(adapter: CompletionsAdapter, body: unknown): JobAnswer<CompletionsAnswer> {
  const answer = adapter.readAnswer(body);
  return { answer, usage: answer.usage, texts: answer.choices.map(({ text }) => text) };
}

// Fields of completions that chat has under the same name and meaning.
const SHARED = ["max_tokens", "temperature", "top_p", "n", "stop", "presence_penalty", "frequency_penalty", "logit_bias", "user", "seed"];

function asChat(request: CompletionsRequest): Job<ChatAnswer> {
  const { prompt, model, stream } = request;
  const text = typeof prompt === "string" ? prompt : promptCount(request) === 1 && typeof prompt[0] === "string" ? prompt[0] : undefined;
  if (text === undefined) {
    throw new AppError("UNSUPPORTED_PARAMETER", "This model takes prompts as text, not as tokens.", { param: "prompt" });
  }
  for (const name of ["suffix", "echo", "logprobs", "best_of"] as const) {
    if (request[name]) throw new AppError("UNSUPPORTED_PARAMETER", `The model does not support ${name}.`, { param: name });
  }
  const shared = Object.fromEntries(SHARED.filter((name) => request[name] !== undefined).map((name) => [name, request[name]]));
  return chatJob({ ...shared, model, stream, messages: [{ role: "user", content: text }] });
}

function fromChat({ answer, usage, texts }: JobAnswer<ChatAnswer>): JobAnswer<CompletionsAnswer> {
  const choices = answer.choices.map(({ index, message, finishReason }) => {
    const { content } = message;
    return { index, text: typeof content === "string" ? content : "", finishReason, logprobs: null };
  });
  return { answer: { choices, usage }, usage, texts };
}

function countPrompt({ prompt }: CompletionsRequest, counter: TokenCounter): number {
  if (typeof prompt === "string") return counter.countText(prompt);
  const entries: readonly unknown[] = prompt;
  return entries.reduce<number>((sum, entry) => sum + countEntry(entry, counter), 0);
}

function countEntry(entry: unknown, counter: TokenCounter): number {
  if (typeof entry === "string") return counter.countText(entry);
  return Array.isArray(entry) ? entry.length : 1;
}
