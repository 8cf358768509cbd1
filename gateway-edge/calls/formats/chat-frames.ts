import { digitsOfCall } from "../../../common/ids.ts";
import { toJson } from "../../../common/json.ts";
import { inputTokens, type Usage } from "../../credit/pricing/usage.ts";
import type { ChatAnswer, ChatChoice, Fields } from "../../upstream/providers/provider.ts";
import { encodedText } from "../../upstream/providers/shared/provider-text.ts";
import type { Bill } from "../inference/bill.ts";
import type { DeliveredPart } from "../inference/delivery.ts";
import { type FinishCause, finishDetails } from "./finish-details.ts";

/** What all objects of one answer share. */
export interface ChatIdentity {
  readonly id: string;
  readonly createdSeconds: number;
  readonly model: string;
}

export function chatIdentity({ callId, nowMs, model }: { callId: string; nowMs: number; model: string }): ChatIdentity {
  return { id: `chatcmpl-${digitsOfCall(callId)}`, createdSeconds: Math.floor(nowMs / 1000), model };
}

/**
 * A whole answer in the Chat Completions format. Its frame is written as text, because nearly all answers have one, and only what a provider
 * said is serialized.
 */
export function chatCompletion({ id, createdSeconds, model }: ChatIdentity, { answer, bill }: { answer: ChatAnswer; bill: Bill }): string {
  const head = `{"id":${JSON.stringify(id)},"object":"chat.completion","created":${createdSeconds},"model":${JSON.stringify(model)}`;
  const choices = answer.choices.length === 1 ? choiceText(answer.choices[0] as ChatChoice) : answer.choices.map(choiceText).join(",");
  const extra = answer.extra ? JSON.stringify(answer.extra).slice(1, -1) : "";
  return `${head},"choices":[${choices}],"usage":${JSON.stringify(chatUsage(bill.usage))}${extra && ","}${extra}}`;
}

function choiceText({ index, message, finishReason, logprobs }: ChatChoice): string {
  const reason = JSON.stringify(finishReason);
  const probabilities = logprobs === undefined ? "" : `"logprobs":${logprobs === null ? "null" : JSON.stringify(logprobs)},`;
  return `{"index":${index},"message":${messageText(message)},${probabilities}"finish_reason":${reason}}`;
}

function messageText(message: Fields): string {
  const { content } = message;
  if (typeof content === "string" && Object.keys(message).length === 1) {
    return `{"role":"assistant","content":${JSON.stringify(content)},"refusal":null}`;
  }
  return JSON.stringify({ role: "assistant", content: null, refusal: null, ...message });
}

export const DONE_FRAME = "data: [DONE]\n\n";

export function errorFrame(body: unknown): string {
  return `data: ${toJson(body)}\n\n`;
}

/** Frames of one stream. The role is sent once for each choice, before anything else of it: a repeated role breaks clients. */
export class ChatFrames {
  readonly #head: string;
  readonly #tail: string;
  readonly #identity: ChatIdentity;
  readonly #started = new Set<number>();

  constructor(identity: ChatIdentity, { withUsage }: { withUsage: boolean }) {
    this.#identity = identity;
    // Equal in every frame, so serialized once: the start up to the choices, and what follows them.
    this.#head = `data: ${JSON.stringify(this.#fields()).slice(0, -1)},"choices":`;
    this.#tail = withUsage ? ',"usage":null}\n\n' : "}\n\n";
  }

  frames(part: Exclude<DeliveredPart, { type: "settled" }>): string {
    const start = this.#started.has(part.choice) ? "" : this.#frame(part.choice, { role: "assistant", content: "", refusal: null }, null);
    this.#started.add(part.choice);
    if (part.type === "text-delta") return start + this.#textFrame(part);
    if (part.type === "other-delta") return start + this.#frame(part.choice, part.fields, null);
    return start + this.#frame(part.choice, {}, part.reason, part.cause);
  }

  usageFrame({ usage, cost }: Bill): string {
    // Beside the usage and inside it: typed clients show only the fields of one or the other.
    const usageWithCost = { ...chatUsage(usage), cost_nano: cost };
    return `data: ${toJson({ ...this.#fields(), choices: [], usage: usageWithCost, cost_nano: cost })}\n\n`;
  }

  /** Nearly all frames of a stream: the text is inserted as received, already JSON. */
  #textFrame(part: Extract<DeliveredPart, { type: "text-delta" }>): string {
    const logprobs = part.logprobs === undefined ? "null" : JSON.stringify(part.logprobs);
    const choice = `{"index":${part.choice},"delta":{"content":${encodedText(part)}},"logprobs":${logprobs},"finish_reason":null}`;
    return `${this.#head}[${choice}]${this.#tail}`;
  }

  #frame(index: number, delta: object, finishReason: string | null, cause?: FinishCause): string {
    const choice = { index, delta, logprobs: null, finish_reason: finishReason, ...(cause && { finish_details: finishDetails(cause) }) };
    return `${this.#head}[${JSON.stringify(choice)}]${this.#tail}`;
  }

  #fields() {
    const { id, createdSeconds, model } = this.#identity;
    return { id, object: "chat.completion.chunk", created: createdSeconds, model };
  }
}

/** Disjoint classes combined as OpenAI counts: prompt includes cached, completion includes reasoning. */
export function chatUsage(usage: Usage) {
  const prompt = inputTokens(usage);
  const completion = usage.output + usage.reasoning + usage.audioOutput;
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: usage.cachedInput, audio_tokens: usage.audioInput },
    completion_tokens_details: {
      reasoning_tokens: usage.reasoning,
      audio_tokens: usage.audioOutput,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  };
}
