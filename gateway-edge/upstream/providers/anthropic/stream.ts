import type { ChatCall, Fields, StreamPart, UpstreamEvent } from "../provider.ts";
import { isJsonAnswer } from "../shared/chat-tools.ts";
import { asFields, asText, brokenOff, parseEvent } from "../shared/json-fields.ts";
import { readInlineError } from "../shared/read-upstream-error.ts";
import { readAnthropicUsage, readStopReason, thinkingBlockOf } from "./answer.ts";
import { StreamedFees } from "./streamed-fees.ts";

/** Events of a message as parts. Only `message_stop` is an end; a stream that is cut before it is broken. */
export async function* readAnthropicStream(events: AsyncIterable<UpstreamEvent>, call: ChatCall): AsyncGenerator<StreamPart> {
  const message = new MessageStream(call);
  for await (const { data } of events) {
    const event = parseEvent(data);
    if (event["type"] === "error") throw readInlineError(event);
    yield* message.read(event);
    if (event["type"] === "message_stop") return;
  }
  throw brokenOff();
}

/** A content block that is being written. */
type OpenBlock =
  | { readonly type: "text" | "other" }
  | { readonly type: "tool"; readonly index: number; readonly input: unknown; wroteArguments: boolean }
  | { readonly type: "json"; readonly input: unknown; wroteArguments: boolean }
  | { readonly type: "thinking"; readonly start: Fields; text: string; signature: string };

class MessageStream {
  readonly #call: ChatCall;
  readonly #blocks = new Map<unknown, OpenBlock>();
  #toolCount = 0;
  #thinkingCount = 0;
  #saidAnything = false;
  readonly #fees = new StreamedFees();
  #hasJson = false;
  #usage: Fields | undefined;
  #stopReason: unknown;
  #explanation: string | undefined;
  #stopSequence: string | undefined;

  constructor(call: ChatCall) {
    this.#call = call;
  }

  read(event: Fields): readonly StreamPart[] {
    switch (event["type"]) {
      case "message_start":
        this.#takeUsage(asFields(event["message"])["usage"]);
        return [];
      case "content_block_start":
        return this.#start(event["index"], asFields(event["content_block"]));
      case "content_block_delta":
        return this.#delta(this.#blocks.get(event["index"]), asFields(event["delta"]));
      case "content_block_stop":
        return this.#stop(event["index"]);
      case "message_delta":
        this.#takeUsage(event["usage"]);
        this.#takeEnd(asFields(event["delta"]));
        return [];
      case "message_stop":
        return this.#end();
      default:
        // `ping`, and unknown events.
        return [];
    }
  }

  /** Later numbers are cumulative: they replace earlier ones and are never added to them. */
  #takeUsage(value: unknown): void {
    if (typeof value !== "object" || value === null) return;
    this.#usage = { ...this.#usage, ...Object.fromEntries(Object.entries(value).filter(([, count]) => count !== null)) };
  }

  #takeEnd(delta: Fields): void {
    this.#stopReason = delta["stop_reason"] ?? this.#stopReason;
    this.#explanation = asText(asFields(delta["stop_details"])["explanation"]) ?? this.#explanation;
    this.#stopSequence = asText(delta["stop_sequence"]) ?? this.#stopSequence;
  }

  #start(key: unknown, block: Fields): readonly StreamPart[] {
    this.#saidAnything = true;
    const fees = this.#fees.take(block);
    const parts = this.#startBlock(key, block);
    return fees ? [...parts, { type: "other-delta", choice: 0, fields: {}, text: "", fees }] : parts;
  }

  #startBlock(key: unknown, block: Fields): readonly StreamPart[] {
    if (block["type"] === "tool_use") return this.#startTool(key, block);
    if (block["type"] === "thinking" || block["type"] === "redacted_thinking") {
      const text = asText(block["thinking"]) ?? "";
      this.#blocks.set(key, { type: "thinking", start: block, text, signature: asText(block["signature"]) ?? "" });
      return text === "" ? [] : [reasoning(text)];
    }
    this.#blocks.set(key, { type: block["type"] === "text" ? "text" : "other" });
    return this.#text(block["type"] === "text" ? asText(block["text"]) : undefined);
  }

  #startTool(key: unknown, { id, name, input }: Fields): readonly StreamPart[] {
    if (isJsonAnswer(name, this.#call.body)) {
      this.#hasJson = true;
      this.#blocks.set(key, { type: "json", input, wroteArguments: false });
      return [];
    }
    // The running number of tool calls; the index of a block also counts texts.
    const index = this.#toolCount++;
    this.#blocks.set(key, { type: "tool", index, input, wroteArguments: false });
    return [toolDelta({ index, id, type: "function", function: { name, arguments: "" } }, asText(name) ?? "")];
  }

  #delta(block: OpenBlock | undefined, delta: Fields): readonly StreamPart[] {
    if (block?.type === "thinking") {
      const text = asText(delta["thinking"]) ?? "";
      block.text += text;
      block.signature += asText(delta["signature"]) ?? "";
      return text === "" ? [] : [reasoning(text)];
    }
    if (block?.type === "tool" || block?.type === "json") return writeArguments(block, asText(delta["partial_json"]));
    return this.#text(delta["type"] === "text_delta" ? asText(delta["text"]) : undefined);
  }

  #stop(key: unknown): readonly StreamPart[] {
    const block = this.#blocks.get(key);
    this.#blocks.delete(key);
    if (block?.type === "thinking") {
      const sealed = thinkingBlockOf({ ...block.start, thinking: block.text, signature: block.signature });
      // Numbered, because official clients merge lists by index.
      return [other({ thinking_blocks: [{ index: this.#thinkingCount++, ...sealed }] }, "")];
    }
    // No fragment of arguments arrived: they are empty, or arrived whole at the start.
    if ((block?.type === "tool" || block?.type === "json") && !block.wroteArguments) {
      return writeArguments(block, JSON.stringify(block.input ?? {}));
    }
    return [];
  }

  #text(text: string | undefined): readonly StreamPart[] {
    // Text beside the requested JSON would only make it invalid.
    return text === undefined || this.#hasJson ? [] : [{ type: "text-delta", choice: 0, text }];
  }

  #end(): readonly StreamPart[] {
    const reason = readStopReason(this.#stopReason, { calledTools: this.#toolCount > 0, saidAnything: this.#saidAnything });
    const usage = readAnthropicUsage(this.#usage, this.#fees);
    return [
      ...(this.#explanation === undefined ? [] : [other({ refusal: this.#explanation }, this.#explanation)]),
      ...(this.#stopSequence === undefined ? [] : [other({ stop_sequence: this.#stopSequence }, "")]),
      { type: "finish", choice: 0, reason },
      ...(usage ? [{ type: "usage" as const, usage }] : []),
    ];
  }
}

function writeArguments(block: Extract<OpenBlock, { type: "tool" | "json" }>, piece: string | undefined): readonly StreamPart[] {
  if (piece === undefined) return [];
  block.wroteArguments = true;
  if (block.type === "json") return [{ type: "text-delta", choice: 0, text: piece }];
  return [toolDelta({ index: block.index, function: { arguments: piece } }, piece)];
}

function toolDelta(call: Fields, text: string): StreamPart {
  return other({ tool_calls: [call] }, text);
}

function reasoning(text: string): StreamPart {
  return other({ reasoning_content: text }, text);
}

function other(fields: Fields, text: string): StreamPart {
  return { type: "other-delta", choice: 0, fields, text };
}
