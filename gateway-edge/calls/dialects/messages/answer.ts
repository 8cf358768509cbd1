import { defined } from "../../../../common/defined.ts";
import { digitsOfCall } from "../../../../common/ids.ts";
import { toJson } from "../../../../common/json.ts";
import { inputTokens, type Usage } from "../../../credit/pricing/usage.ts";
import type { ChatAnswer, Fields, StreamPart } from "../../../upstream/providers/provider.ts";
import { type FinishCause, finishDetails } from "../../formats/finish-details.ts";
import type { Bill } from "../../inference/bill.ts";
import { piecesOfChoice, piecesOfPart } from "../pieces.ts";
import { MessageBlocks, type MessageEvent } from "./blocks.ts";

/** What all objects of one answer share. */
export interface MessageIdentity {
  readonly id: string;
  readonly model: string;
}

export interface MessageOptions {
  /** The caller asked for thinking. */
  readonly showsThinking: boolean;
}

export function messageIdentity({ callId, model }: { callId: string; model: string }): MessageIdentity {
  return { id: `msg_${digitsOfCall(callId)}`, model };
}

/** A whole answer in the Messages format. */
export function messageAnswer(
  identity: MessageIdentity,
  answer: ChatAnswer,
  { bill, showsThinking }: MessageOptions & { bill: Bill },
): Fields {
  const blocks = new MessageBlocks({ showsThinking, keepsText: true });
  const [choice] = answer.choices;
  for (const piece of choice ? piecesOfChoice(choice) : []) blocks.take(piece);
  return {
    ...emptyMessage(identity),
    content: blocks.content(),
    ...endOf(choice?.finishReason ?? "stop", blocks),
    usage: messageUsage(bill.usage),
  };
}

/** Frames of one stream. Each has an `event:` line: Anthropic's clients ignore frames without one. */
export class MessageFrames {
  readonly #identity: MessageIdentity;
  readonly #blocks: MessageBlocks;
  #isStarted = false;
  #finishReason = "stop";
  #cause: FinishCause | undefined;

  constructor(identity: MessageIdentity, options: MessageOptions) {
    this.#identity = identity;
    this.#blocks = new MessageBlocks({ ...options, keepsText: false });
  }

  frames(part: Exclude<StreamPart, { type: "usage" }>): string {
    if (part.type === "finish") {
      this.#finishReason = part.reason;
      this.#cause = part.cause;
    }
    return written([...this.#start(), ...piecesOfPart(part).flatMap((piece) => this.#blocks.take(piece))]);
  }

  last({ usage, cost }: Bill): string {
    const details = this.#cause && { stop_details: finishDetails(this.#cause) };
    const delta = { container: null, ...endOf(this.#finishReason, this.#blocks), ...details };
    // A stream has no header for its cost.
    const usageWithCost = { ...messageUsage(usage), cost_nano: cost };
    const end = [{ type: "message_delta", delta, usage: usageWithCost }, { type: "message_stop" }];
    return written([...this.#start(), ...this.#blocks.close(), ...end]);
  }

  #start(): readonly MessageEvent[] {
    if (this.#isStarted) return [];
    this.#isStarted = true;
    const message = { ...emptyMessage(this.#identity), usage: { input_tokens: 0, output_tokens: 0 } };
    return [{ type: "message_start", message }];
  }
}

export const PING_FRAME = writtenEvent({ type: "ping" });

export function writtenEvent(event: MessageEvent): string {
  return `event: ${event.type}\ndata: ${toJson(event)}\n\n`;
}

function written(events: readonly MessageEvent[]): string {
  return events.map(writtenEvent).join("");
}

function emptyMessage({ id, model }: MessageIdentity): Fields {
  return { id, type: "message", role: "assistant", model, content: [], stop_reason: null, stop_sequence: null, stop_details: null };
}

const STOP_REASONS: Readonly<Record<string, string>> = {
  stop: "end_turn",
  length: "max_tokens",
  tool_calls: "tool_use",
  function_call: "tool_use",
  content_filter: "refusal",
};

function endOf(finishReason: string, { explanation, stopSequence }: MessageBlocks): Fields {
  const plain = STOP_REASONS[finishReason] ?? "end_turn";
  const isRefusal = plain === "refusal" || (plain === "end_turn" && explanation !== undefined);
  if (isRefusal) {
    const details = explanation === undefined ? null : { type: "refusal", category: null, explanation };
    return { stop_reason: "refusal", stop_sequence: null, stop_details: details };
  }
  if (plain === "end_turn" && stopSequence !== undefined) {
    return { stop_reason: "stop_sequence", stop_sequence: stopSequence, stop_details: null };
  }
  return { stop_reason: plain, stop_sequence: null, stop_details: null };
}

/** As Anthropic counts: input excludes cache reads and writes, output includes thinking. */
export function messageUsage(usage: Usage): Fields {
  return defined({
    input_tokens: inputTokens(usage) - usage.cachedInput - usage.cacheWrite,
    cache_creation_input_tokens: usage.cacheWrite,
    cache_read_input_tokens: usage.cachedInput,
    output_tokens: usage.output + usage.reasoning + usage.audioOutput,
    output_tokens_details: usage.reasoning > 0 ? { thinking_tokens: usage.reasoning } : undefined,
  });
}
