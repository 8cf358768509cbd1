import type { ChatRequest } from "../../../schemas/calls/chat.ts";
import type { ChatAdapter, ChatAnswer, ChatBody, ChatCall, Fields, Provider } from "../../../upstream/providers/provider.ts";
import { readEvents } from "../../../upstream/transports/framing.ts";
import { countOtherFields } from "../../tokens/other-fields.ts";
import type { Job, JobAttempt, JobTraits } from "../job.ts";
import { keepSupported } from "../params.ts";
import { chatTraits } from "../traits/chat.ts";
import { logTagsOf, providerFields, tagsOf, withDefaults } from "./gateway-fields.ts";
import { repeatedChoices, requestOfChoice } from "./repeated-choices.ts";
import { billedParts, billedUsage, chatFeesOf } from "./tool-fees.ts";

export function chatJob(request: ChatRequest): Job<ChatAnswer> {
  const body = bodyOf(request);
  const stream = request.stream === true;
  const fees = chatFeesOf(body);
  let traits: JobTraits<ChatAnswer> | undefined;
  const callOf = (maxOutputTokens: number, sent: ChatBody = body): ChatCall => ({ body: sent, stream, maxOutputTokens });
  return {
    operation: "chat",
    model: request.model,
    stream,
    choiceCount: request.n ?? 1,
    maxOutputTokens: request.max_completion_tokens ?? request.max_tokens ?? undefined,
    maxOutputParam: request.max_completion_tokens === undefined ? "max_tokens" : "max_completion_tokens",
    endUser: request.user ?? undefined,
    tags: tagsOf(request),
    logTags: logTagsOf(request),
    fees,
    countInput: (counter) => counter.countMessages(body.messages) + toolTokens(body, counter) + countOtherFields(body, counter, COUNTED),
    isOfferedBy: (provider) => provider.chat !== undefined,
    request: ({ provider, target, maxOutputTokens, dropParams }: JobAttempt) => {
      const adapter = chatOf(provider);
      const complete = withDefaults(target.params, body);
      const supported = keepSupported(complete, adapter.supportedParams(target.inferenceModelId), dropParams);
      return adapter.buildRequest(callOf(maxOutputTokens, supported), target);
    },
    pieces: (provider, target) => {
      const count = request.n ?? 1;
      if (count === 1 || chatOf(provider).supportedParams(target.inferenceModelId).includes("n")) return undefined;
      return repeatedChoices(count, (choice) => chatJob(requestOfChoice(request, choice)));
    },
    readAnswer: (provider, answer) => {
      const read = chatOf(provider).readAnswer(answer, callOf(0));
      return { answer: read, usage: billedUsage(read.usage, fees), texts: read.choices.map(({ message }) => textOf(message)) };
    },
    readStream: (provider, bytes) => {
      const adapter = chatOf(provider);
      return billedParts(adapter.readStream(readEvents(adapter.framing, bytes), callOf(0)), fees);
    },
    // Several layers read the traits, one after the other.
    traits: () => {
      traits ??= chatTraits(request, (changed) => chatJob(changed as ChatRequest));
      return traits;
    },
  };
}

function chatOf(provider: Provider): ChatAdapter {
  if (!provider.chat) throw new Error(`${provider.kind} has no chat`);
  return provider.chat;
}

function bodyOf(request: ChatRequest): ChatBody {
  const fields = providerFields(request);
  // Most providers answer 400 to an empty list of tools, which means the same as no list.
  const isEmptyTools = (name: string) => (name === "tools" || name === "functions") && (fields[name] as unknown[]).length === 0;
  const names = Object.keys(fields);
  if (!names.some(isEmptyTools)) return fields as unknown as ChatBody;
  return Object.fromEntries(names.filter((name) => !isEmptyTools(name)).map((name) => [name, fields[name]])) as unknown as ChatBody;
}

const COUNTED = ["messages", "tools", "functions"];

function toolTokens({ tools, functions }: ChatBody, counter: { countText(text: string): number }): number {
  const countList = (list: unknown) => (list === undefined ? 0 : counter.countText(JSON.stringify(list)));
  return countList(tools) + countList(functions);
}

/** What counts as output where the provider does not report usage. */
export function textOf(message: Fields): string {
  const { content, tool_calls: toolCalls, reasoning_content: reasoning } = message;
  const texts = [content, reasoning].filter((text) => typeof text === "string");
  return texts.join("") + (toolCalls === undefined ? "" : JSON.stringify(toolCalls));
}
