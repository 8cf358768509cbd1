import { ollama as declaration } from "../../../../common/providers/ollama.ts";
import { paramsOf } from "../../../../common/providers/shared/params.ts";
import { readFinishReason } from "../openai-compatible/finish.ts";
import type {
  ChatAnswer,
  EmbeddingsAnswer,
  Fields,
  Provider,
  ProviderTarget,
  ReportedUsage,
  StreamPart,
  UpstreamEvent,
} from "../provider.ts";
import { asCount, asFields, asList, asText, brokenOff, malformed, parseEvent, present } from "../shared/json-fields.ts";
import { bearerHeaders, under } from "../shared/locate-upstream.ts";
import { readInlineError, readUpstreamError } from "../shared/read-upstream-error.ts";
import { argumentsText, toolCallId } from "../shared/tool-call-deltas.ts";
import { ollamaChatFields } from "./request.ts";

/** Ollama by its own API: one JSON text per line, and options that its OpenAI API does not have. */
export const ollama: Provider = {
  kind: declaration.kind,
  chat: {
    supportedParams: paramsOf(declaration, "chat"),
    framing: "ndjson",
    buildRequest: (call, target) => request(target, "api/chat", ollamaChatFields(call, target)),
    readAnswer,
    readStream,
  },
  embeddings: {
    supportedParams: paramsOf(declaration, "embeddings"),
    takesTokens: false,
    buildRequest: ({ input, dimensions }, target) =>
      request(target, "api/embed", present({ model: target.inferenceModelId, input, dimensions, keep_alive: target.params["keep_alive"] })),
    readAnswer: readEmbeddings,
  },
  readError: readUpstreamError,
};

function request(target: ProviderTarget, path: string, fields: Fields) {
  return {
    url: under(target.baseUrl ?? declaration.baseUrl, path),
    headers: { ...bearerHeaders(target), "content-type": "application/json" },
    body: JSON.stringify(fields),
  };
}

function readAnswer(body: unknown): ChatAnswer {
  const answer = asFields(body);
  if (answer["error"] !== undefined) throw readInlineError(answer);
  if (typeof answer["message"] !== "object" || answer["message"] === null) throw malformed("an answer without a message");
  const { content, thinking, tool_calls: given } = asFields(answer["message"]);
  const calls = toolCallsOf(given, { first: 0, seed: answer["created_at"] });
  return {
    choices: [
      {
        index: 0,
        message: present({
          content: asText(content) ?? "",
          reasoning_content: asText(thinking),
          tool_calls: calls.length > 0 ? calls : undefined,
        }),
        finishReason: finishOf(answer, calls.length > 0),
        logprobs: null,
      },
    ],
    usage: usageOf(answer),
  };
}

async function* readStream(events: AsyncIterable<UpstreamEvent>): AsyncGenerator<StreamPart> {
  let callCount = 0;
  for await (const { data } of events) {
    const line = parseEvent(data);
    if (line["error"] !== undefined) throw readInlineError(line);
    const { content, thinking, tool_calls: given } = asFields(line["message"]);
    const reasoning = asText(thinking);
    if (reasoning !== undefined) yield { type: "other-delta", choice: 0, fields: { reasoning_content: reasoning }, text: reasoning };
    const text = asText(content);
    if (text !== undefined) yield { type: "text-delta", choice: 0, text };
    const calls = toolCallsOf(given, { first: callCount, seed: line["created_at"] });
    if (calls.length > 0) yield callsPart(calls, callCount);
    callCount += calls.length;
    if (line["done"] !== true) continue;
    yield { type: "finish", choice: 0, reason: finishOf(line, callCount > 0) };
    const usage = usageOf(line);
    if (usage) yield { type: "usage", usage };
    return;
  }
  throw brokenOff();
}

interface OllamaCall extends Fields {
  readonly function: { readonly name: string; readonly arguments: string };
}

/** Arguments arrive as an object and tool calls without ids: ids are made from the time of the answer, so that they are unique. */
function toolCallsOf(value: unknown, { first, seed }: { first: number; seed: unknown }): OllamaCall[] {
  return asList(value).map((item, position) => {
    const called = asFields(asFields(item)["function"]);
    const name = asText(called["name"]) ?? "";
    const text = argumentsText(called["arguments"]) || "{}";
    const id = asText(asFields(item)["id"]) ?? toolCallId(seed, first + position, name, text);
    return { id, type: "function", function: { name, arguments: text } };
  });
}

function callsPart(calls: readonly OllamaCall[], first: number): StreamPart {
  const text = calls.map((call) => call.function.name + call.function.arguments).join("");
  return {
    type: "other-delta",
    choice: 0,
    fields: { tool_calls: calls.map((call, position) => ({ index: first + position, ...call })) },
    text,
  };
}

function finishOf(answer: Fields, calledTools: boolean): string {
  const reason = asText(answer["done_reason"]) ?? "stop";
  // The model was only loaded or unloaded: there is no answer.
  return readFinishReason(reason === "load" || reason === "unload" ? "error" : reason, { calledTools });
}

function usageOf(answer: Fields): ReportedUsage | undefined {
  const completionTokens = asCount(answer["eval_count"]);
  const promptTokens = asCount(answer["prompt_eval_count"]);
  const usage = { promptTokens, cachedTokens: 0, cacheWriteTokens: 0, completionTokens, reasoningTokens: 0 };
  // Absent when the whole prompt was cached: then the gateway counts it.
  return promptTokens === 0 ? { ...usage, lacksPrompt: true } : usage;
}

function readEmbeddings(body: unknown): EmbeddingsAnswer {
  const answer = asFields(body);
  const vectors = asList(answer["embeddings"]);
  if (vectors.length === 0 || !vectors.every(Array.isArray)) throw malformed("an answer without vectors");
  const promptTokens = asCount(answer["prompt_eval_count"]);
  const usage = { promptTokens, cachedTokens: 0, cacheWriteTokens: 0, completionTokens: 0, reasoningTokens: 0 };
  return { vectors: vectors as number[][], usage: promptTokens === 0 ? undefined : usage };
}
