import { AppError } from "../../../../common/errors.ts";
import type { ChatAnswer, ChatCall, ChatChoice, Fields, ReportedUsage } from "../provider.ts";
import { asCount, asFields, asList, asText, malformed } from "../shared/json-fields.ts";
import { callId } from "./call-id.ts";

/** Google's finish reasons as OpenAI's. Any other reason is a failure of the model, unless it wrote something before. */
const FINISH_REASONS: Readonly<Record<string, string>> = {
  STOP: "stop",
  MAX_TOKENS: "length",
  SAFETY: "content_filter",
  RECITATION: "content_filter",
  LANGUAGE: "content_filter",
  BLOCKLIST: "content_filter",
  PROHIBITED_CONTENT: "content_filter",
  SPII: "content_filter",
  IMAGE_SAFETY: "content_filter",
  IMAGE_PROHIBITED_CONTENT: "content_filter",
  IMAGE_RECITATION: "content_filter",
};

export function readGeminiAnswer(body: unknown, call: ChatCall): ChatAnswer {
  const answer = asFields(body);
  refuseBlockedPrompt(answer);
  const candidates = asList(answer["candidates"]).map(asFields);
  if (candidates.length === 0) throw malformed("an answer without candidates");
  return {
    choices: candidates.map((candidate, position) => readCandidate(candidate, position, { answer, call })),
    usage: readGeminiUsage(answer["usageMetadata"]),
  };
}

/** A blocked prompt has a reason and nothing else. */
export function refuseBlockedPrompt(answer: Fields): void {
  const reason = asFields(answer["promptFeedback"])["blockReason"];
  if (reason === undefined || asList(answer["candidates"]).length > 0) return;
  throw new AppError("CONTENT_POLICY_VIOLATION", `The provider's content policy blocked the prompt: ${String(reason).slice(0, 64)}.`);
}

function readCandidate(candidate: Fields, position: number, { answer, call }: { answer: Fields; call: ChatCall }): ChatChoice {
  const index = candidateIndex(candidate, position);
  const said = readParts(candidate);
  const toolCalls = said.calls.map((made, order) => toolCall(made, { answer, call, choice: index, index: order }));
  const wrote = { content: said.text !== "" || said.images.length > 0, calls: toolCalls.length > 0 };
  const finishReason = finishReasonOf(candidate["finishReason"], wrote);
  return {
    index,
    message: {
      content: said.text === "" && wrote.calls ? null : said.text,
      ...(said.thoughts === "" ? {} : { reasoning_content: said.thoughts }),
      ...(said.images.length > 0 ? { images: said.images } : {}),
      ...(wrote.calls ? { tool_calls: toolCalls } : {}),
    },
    finishReason,
    logprobs: readLogprobs(candidate) ?? null,
  };
}

export function candidateIndex(candidate: Fields, position: number): number {
  return typeof candidate["index"] === "number" ? candidate["index"] : position;
}

export interface CandidateParts {
  readonly text: string;
  readonly thoughts: string;
  readonly calls: readonly ModelCall[];
  readonly images: readonly Fields[];
}

interface ModelCall {
  readonly name: string;
  readonly arguments: string;
  readonly signature: string | undefined;
}

/** The content of a candidate, or of a fragment of one: texts joined without a separator, tool calls in order. */
export function readParts(candidate: Fields): CandidateParts {
  const parts = asList(asFields(candidate["content"])["parts"]).map(asFields);
  const texts = (thought: boolean) =>
    parts
      .filter((part) => (part["thought"] === true) === thought)
      .map((part) => asText(part["text"]) ?? "")
      .join("");
  return {
    text: texts(false),
    thoughts: texts(true),
    calls: parts.filter((part) => part["functionCall"] !== undefined).map(readCall),
    images: parts.filter((part) => part["inlineData"] !== undefined && part["thought"] !== true).map(readInline),
  };
}

function readCall({ functionCall, thoughtSignature }: Fields): ModelCall {
  const { name, args } = asFields(functionCall);
  if (typeof name !== "string" || name === "") throw malformed("a function call without a name");
  return { name, arguments: JSON.stringify(asFields(args)), signature: asText(thoughtSignature) };
}

function readInline({ inlineData }: Fields): Fields {
  const { mimeType, data } = asFields(inlineData);
  return { type: "image_url", image_url: { url: `data:${String(mimeType)};base64,${String(data)}` } };
}

/** OpenAI's form of a tool call. The signature is in Google's own extra field for clients that preserve it, and in the id for all others. */
export function toolCall(made: ModelCall, place: { answer: Fields; call: ChatCall; choice: number; index: number }): Fields {
  const id = callId({
    responseId: asText(place.answer["responseId"]),
    turn: place.call.body.messages.length,
    choice: place.choice,
    index: place.index,
    ...made,
  });
  return {
    id,
    type: "function",
    function: { name: made.name, arguments: made.arguments },
    ...(made.signature === undefined ? {} : { extra_content: { google: { thought_signature: made.signature } } }),
  };
}

/** Throws when the model failed without any output: an empty success would hide it. */
export function finishReasonOf(reason: unknown, wrote: { content: boolean; calls: boolean }): string {
  const known = FINISH_REASONS[String(reason)];
  if (known === undefined && !wrote.content && !wrote.calls) {
    throw new AppError("UPSTREAM_UNAVAILABLE", "The model gave no usable answer. Try again.", {
      internal: `finishReason ${String(reason)}`,
    });
  }
  // Only a plain stop turns into tool_calls: a limit or a filter may have cut the tool calls short.
  return wrote.calls && (known === undefined || known === "stop") ? "tool_calls" : (known ?? "stop");
}

/** Google counts thoughts beside the answer, and the input of its tools beside the prompt. */
export function readGeminiUsage(value: unknown): ReportedUsage | undefined {
  const usage = asFields(value);
  const says = (name: string) => usage[name] !== undefined;
  const lacksPrompt = !says("promptTokenCount") && !says("totalTokenCount");
  if (lacksPrompt && !says("candidatesTokenCount") && !says("thoughtsTokenCount")) return undefined;
  const promptTokens = asCount(usage["promptTokenCount"]) + asCount(usage["toolUsePromptTokenCount"]);
  const reasoningTokens = asCount(usage["thoughtsTokenCount"]);
  const rest = Math.max(0, asCount(usage["totalTokenCount"]) - promptTokens - reasoningTokens);
  const answerTokens = usage["candidatesTokenCount"] === undefined ? rest : asCount(usage["candidatesTokenCount"]);
  return {
    promptTokens,
    cachedTokens: Math.min(promptTokens, asCount(usage["cachedContentTokenCount"])),
    cacheWriteTokens: 0,
    completionTokens: answerTokens + reasoningTokens,
    reasoningTokens,
    ...mediaTokens(usage),
    ...(lacksPrompt && { lacksPrompt }),
  };
}

/** Sound and images have prices of their own. */
function mediaTokens(usage: Fields): Partial<ReportedUsage> {
  const { promptTokensDetails: prompt, toolUsePromptTokensDetails: tools, candidatesTokensDetails: answer } = usage;
  if (prompt === undefined && answer === undefined) return {};
  const tokens = {
    audioPromptTokens: tokensOf(prompt, "AUDIO") + tokensOf(tools, "AUDIO"),
    audioCompletionTokens: tokensOf(answer, "AUDIO"),
    imagePromptTokens: tokensOf(prompt, "IMAGE") + tokensOf(tools, "IMAGE"),
    imageCompletionTokens: tokensOf(answer, "IMAGE"),
  };
  return Object.fromEntries(Object.entries(tokens).filter(([, count]) => count !== 0));
}

function tokensOf(details: unknown, modality: string): number {
  const own = asList(details)
    .map(asFields)
    .filter((detail) => detail["modality"] === modality);
  return own.reduce((sum, { tokenCount }) => sum + asCount(tokenCount), 0);
}

export function readLogprobs({ logprobsResult }: Fields): Fields | undefined {
  const { chosenCandidates, topCandidates } = asFields(logprobsResult);
  const chosen = asList(chosenCandidates).map(asFields);
  if (chosen.length === 0) return undefined;
  const top = asList(topCandidates).map((each) => asList(asFields(each)["candidates"]).map(asFields));
  return {
    content: chosen.map((token, index) => ({ ...oneLogprob(token), top_logprobs: (top[index] ?? []).map(oneLogprob) })),
    refusal: null,
  };
}

function oneLogprob({ token, logProbability }: Fields): Fields {
  const text = asText(token) ?? "";
  return { token: text, logprob: logProbability ?? 0, bytes: [...Buffer.from(text)] };
}
