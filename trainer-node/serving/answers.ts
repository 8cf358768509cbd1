import type { Manifest } from "../../common/training/trained-manifest.ts";
import type { Prediction } from "../compute/tasks/task.ts";
import type { Ending } from "./write-text.ts";

// Answers of served models in OpenAI's format. A token is a byte of UTF-8 in input and output, because these models have no vocabulary.

/** The tokens of a call. */
export interface Tokens {
  readonly input: number;
  readonly output: number;
}

function usageOf({ input, output }: Tokens) {
  return { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
}

/** The UTF-8 bytes of texts. */
export function byteCount(...texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
}

/** The label of a prediction: the class's name, or the number. */
export function labelOf(prediction: Prediction, { labels }: Manifest): string {
  if ("label" in prediction) return labels?.[prediction.label] ?? String(prediction.label);
  if ("value" in prediction) return String(prediction.value);
  return "text" in prediction ? prediction.text : JSON.stringify(prediction.vector);
}

/** The whole of an answer, or as many of its bytes as the caller asked for. */
export function cutAnswer(whole: string, bytesMax: number): { shown: string; ending: Ending } {
  const shown = new TextDecoder().decode(Buffer.from(whole).subarray(0, bytesMax), { stream: true });
  return { shown, ending: { reason: shown === whole ? "stop" : "length", bytes: byteCount(shown) } };
}

/** One result of a moderation, with the classes as categories. If the manifest does not name the flagged classes, all but the first are. */
export function moderationResult({ label, scores }: { label: number; scores: readonly number[] }, manifest: Manifest) {
  const nameOf = (index: number) => manifest.labels?.[index] ?? String(index);
  const names = scores.map((_, index) => nameOf(index));
  const flagged = manifest.flagged ?? names.slice(1);
  return {
    flagged: flagged.includes(nameOf(label)),
    categories: Object.fromEntries(names.map((name, index) => [name, index === label])),
    category_scores: Object.fromEntries(names.map((name, index) => [name, scores[index] ?? 0])),
    category_applied_input_types: Object.fromEntries(names.map((name) => [name, ["text"]])),
  };
}

/** One entry of an embeddings answer. */
export function embeddingEntry(vector: readonly number[], index: number, format: "float" | "base64") {
  const embedding = format === "float" ? vector : Buffer.from(Float32Array.from(vector).buffer).toString("base64");
  return { object: "embedding" as const, index, embedding };
}

/** The fields that every chunk of an answer repeats. */
export interface AnswerHead {
  readonly id: string;
  /** Seconds since 1970. */
  readonly created: number;
  readonly model: string;
}

/** The response format of chat or completions: whole answers and chunks. */
export interface TextFormat {
  readonly idPrefix: string;
  whole(head: AnswerHead, choices: readonly { text: string; reason: string }[], tokens: Tokens): object;
  /** The first chunk of a choice; undefined if the format has none. */
  opening(head: AnswerHead, choice: number): object | undefined;
  piece(head: AnswerHead, choice: number, text: string): object;
  ending(head: AnswerHead, choice: number, reason: string): object;
  usage(head: AnswerHead, tokens: Tokens): object;
}

/** The format of /chat/completions. */
export const chatFormat: TextFormat = {
  idPrefix: "chatcmpl",
  whole: (head, choices, tokens) => ({
    ...head,
    object: "chat.completion",
    choices: choices.map(({ text, reason }, index) => ({
      index,
      message: { role: "assistant", content: text, refusal: null },
      logprobs: null,
      finish_reason: reason,
    })),
    usage: usageOf(tokens),
  }),
  opening: (head, index) => chatChunk(head, [{ index, delta: { role: "assistant", content: "" }, logprobs: null, finish_reason: null }]),
  piece: (head, index, content) => chatChunk(head, [{ index, delta: { content }, logprobs: null, finish_reason: null }]),
  ending: (head, index, reason) => chatChunk(head, [{ index, delta: {}, logprobs: null, finish_reason: reason }]),
  usage: (head, tokens) => ({ ...chatChunk(head, []), usage: usageOf(tokens) }),
};

/** The format of /completions. */
export const completionFormat: TextFormat = {
  idPrefix: "cmpl",
  whole: (head, choices, tokens) => ({
    ...textChunk(
      head,
      choices.map(({ text, reason }, index) => ({ index, text, logprobs: null, finish_reason: reason })),
    ),
    usage: usageOf(tokens),
  }),
  opening: () => undefined,
  piece: (head, index, text) => textChunk(head, [{ index, text, logprobs: null, finish_reason: null }]),
  ending: (head, index, reason) => textChunk(head, [{ index, text: "", logprobs: null, finish_reason: reason }]),
  usage: (head, tokens) => ({ ...textChunk(head, []), usage: usageOf(tokens) }),
};

function chatChunk(head: AnswerHead, choices: readonly object[]) {
  return { ...head, object: "chat.completion.chunk", choices };
}

function textChunk(head: AnswerHead, choices: readonly object[]) {
  return { ...head, object: "text_completion", choices };
}
