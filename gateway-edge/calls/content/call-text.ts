import { MESSAGE_EVENTS } from "../../upstream/providers/anthropic/messages.ts";
import { RESPONSE_EVENTS } from "../../upstream/providers/openai-compatible/responses.ts";
import type { BytesPart, Fields } from "../../upstream/providers/provider.ts";
import type { DeliveredPart } from "../inference/delivery.ts";
import type { Job } from "../inference/job.ts";
import { mergeDeltas } from "../inference/traits/merge-deltas.ts";

/** The fields of requests, of every API, that callers mean by the prompt. */
const PROMPT_FIELDS = ["system", "instructions", "messages", "prompt", "suffix", "input", "query", "documents", "tools"] as const;
/**
 * The fields that decide how a prompt is answered, stored beside it so that the call can be made again. A list of what is stored, because
 * other fields may be credentials; `user` and `metadata` say whose call it was, not how it is answered.
 */
// biome-ignore format: one name after the other
const PARAMETER_FIELDS = [
  "model", "temperature", "top_p", "top_k", "min_p", "max_tokens", "max_completion_tokens", "n", "stop", "seed", "response_format",
  "tool_choice", "parallel_tool_calls", "functions", "function_call", "frequency_penalty", "presence_penalty", "repetition_penalty",
  "logit_bias", "logprobs", "top_logprobs", "reasoning_effort", "verbosity", "thinking", "modalities", "service_tier", "guardrails",
  "caching", "fallbacks", "num_retries",
] as const;
/** The fields of answers that pass unchanged. */
const PROXIED_FIELDS = ["role", "content", "output", "stop_reason", "status"] as const;

/** The prompt of a job, with `parameters`; without fields for a job whose request is not text. */
export function promptOf(job: Job<unknown>): Fields {
  const request = job.traits?.().request ?? {};
  const prompt = picked(request, PROMPT_FIELDS);
  return Object.keys(prompt).length === 0 ? prompt : { ...prompt, parameters: picked(request, PARAMETER_FIELDS) };
}

/** The text of a whole answer; undefined for vectors, images and scores. */
export function answerOf(answer: unknown): Fields | undefined {
  const { choices, proxied } = (answer ?? {}) as { choices?: unknown; proxied?: Fields };
  if (proxied) return picked(proxied, PROXIED_FIELDS);
  return Array.isArray(choices) ? { choices: choices.map(choiceOf) } : undefined;
}

function choiceOf({ index, message, text, finishReason }: Fields): Fields {
  const said = message === undefined ? { text } : { message: { role: "assistant", ...(message as Fields) } };
  return { index, ...said, finish_reason: finishReason };
}

function picked(fields: Fields, names: readonly string[]): Fields {
  return Object.fromEntries(names.flatMap((name) => (fields[name] === undefined ? [] : [[name, fields[name]]])));
}

interface StreamedChoice {
  text: string;
  fields: Fields;
  finishReason: string | undefined;
}

/** The answer of a stream as it is delivered, up to a number of characters. */
export class StreamedText {
  readonly #choices = new Map<number, StreamedChoice>();
  #left: number;
  isCut = false;

  constructor(charactersMax: number) {
    this.#left = charactersMax;
  }

  /** Returns how many characters were added. */
  add(part: DeliveredPart | BytesPart): number {
    if (part.type === "settled") return 0;
    if (part.type === "bytes") return part.text === undefined ? 0 : this.#addText(0, part.text);
    if (part.type === "text-delta") return this.#addText(part.choice, part.text);
    if (part.type === "other-delta") return isProxied(part.fields) ? this.#addText(part.choice, part.text) : this.#addFields(part);
    const choice = this.#choices.get(part.choice);
    if (choice) choice.finishReason = part.reason;
    return 0;
  }

  /** Undefined if nothing was delivered. */
  answer(): Fields | undefined {
    if (this.#choices.size === 0) return undefined;
    const choices = [...this.#choices]
      .toSorted(([left], [right]) => left - right)
      .map(([index, { text, fields, finishReason }]) => choiceOf({ index, message: { content: text, ...fields }, finishReason }));
    return { choices };
  }

  #addText(index: number, text: string): number {
    const room = this.#take(text.length);
    if (room > 0) this.#choice(index).text += room === text.length ? text : text.slice(0, room);
    return room;
  }

  #addFields({ choice: index, fields }: { choice: number; fields: Fields }): number {
    const { length } = JSON.stringify(fields);
    if (length > this.#left) {
      this.isCut = true;
      return 0;
    }
    const choice = this.#choice(index);
    choice.fields = mergeDeltas(choice.fields, fields);
    return this.#take(length);
  }

  #take(length: number): number {
    const room = Math.min(length, this.#left);
    this.#left -= room;
    if (room < length) this.isCut = true;
    return room;
  }

  #choice(index: number): StreamedChoice {
    const known = this.#choices.get(index);
    if (known) return known;
    const made: StreamedChoice = { text: "", fields: {}, finishReason: undefined };
    this.#choices.set(index, made);
    return made;
  }
}

/** Events of the provider's own API have their text beside them. */
const isProxied = (fields: Fields): boolean => MESSAGE_EVENTS in fields || RESPONSE_EVENTS in fields;
