import type { ChatCall, Fields, StreamPart, UpstreamEvent } from "../provider.ts";
import { isJsonAnswer } from "../shared/chat-tools.ts";
import { asFields, asText, brokenOff, parseEvent } from "../shared/json-fields.ts";
import { readUpstreamError } from "../shared/read-upstream-error.ts";
import { isServerTool, readBedrockUsage, readStopReason, thinkingBlockOf } from "./answer.ts";

/**
 * Events of ConverseStream as parts. `messageStop` ends the answer; the usage follows it, so the stream is read to its end. A stream that
 * ends before `messageStop` is broken.
 */
export async function* readBedrockStream(events: AsyncIterable<UpstreamEvent>, call: ChatCall): AsyncGenerator<StreamPart> {
  const message = new ConverseStream(call);
  for await (const { event, data } of events) {
    const fields = parseEvent(data);
    if (event !== undefined && /exception$/i.test(event)) throw readException(event, fields);
    yield* message.read(event, fields);
  }
  if (!message.isFinished) throw brokenOff();
}

export function readException(name: string, body: Fields) {
  return readUpstreamError({ status: 500, headers: { "x-amzn-errortype": name }, body });
}

/** An unfinished content block; text blocks need none. */
type OpenBlock =
  | { readonly type: "tool"; readonly index: number; wroteInput: boolean }
  | { readonly type: "json"; wroteInput: boolean }
  | { readonly type: "reasoning"; text: string; signature: string; redacted: string };

class ConverseStream {
  readonly #call: ChatCall;
  readonly #blocks = new Map<unknown, OpenBlock>();
  #toolCount = 0;
  #reasoningCount = 0;
  #saidAnything = false;
  #hasJson = false;
  isFinished = false;

  constructor(call: ChatCall) {
    this.#call = call;
  }

  read(event: string | undefined, fields: Fields): readonly StreamPart[] {
    const key = fields["contentBlockIndex"];
    switch (event) {
      case "contentBlockStart":
        return this.#start(key, asFields(asFields(fields["start"])["toolUse"]));
      case "contentBlockDelta":
        return this.#delta(key, asFields(fields["delta"]));
      case "contentBlockStop":
        return this.#stop(key);
      case "messageStop":
        return this.#finish(fields["stopReason"]);
      case "metadata": {
        const usage = readBedrockUsage(fields["usage"], fields["trace"]);
        return usage ? [{ type: "usage", usage }] : [];
      }
      default:
        return [];
    }
  }

  #start(key: unknown, { toolUseId, name, type }: Fields): readonly StreamPart[] {
    this.#saidAnything = true;
    if (name === undefined || isServerTool({ type })) return [];
    if (isJsonAnswer(name, this.#call.body)) {
      this.#hasJson = true;
      this.#blocks.set(key, { type: "json", wroteInput: false });
      return [];
    }
    // The running number of tool calls; the index of a block also counts texts.
    const index = this.#toolCount++;
    this.#blocks.set(key, { type: "tool", index, wroteInput: false });
    const call = { index, id: toolUseId, type: "function", function: { name, arguments: "" } };
    return [other({ tool_calls: [call] }, asText(name) ?? "")];
  }

  #delta(key: unknown, { text, toolUse, reasoningContent }: Fields): readonly StreamPart[] {
    this.#saidAnything = true;
    if (reasoningContent !== undefined) return this.#reasoning(key, asFields(reasoningContent));
    const block = this.#blocks.get(key);
    if (toolUse !== undefined && (block?.type === "tool" || block?.type === "json"))
      return writeInput(block, asText(asFields(toolUse)["input"]));
    // Text beside the requested JSON would only make it invalid.
    if (typeof text !== "string" || text === "" || this.#hasJson) return [];
    return [{ type: "text-delta", choice: 0, text }];
  }

  #reasoning(key: unknown, { text, signature, redactedContent }: Fields): readonly StreamPart[] {
    const open = this.#blocks.get(key);
    const block = open?.type === "reasoning" ? open : { type: "reasoning" as const, text: "", signature: "", redacted: "" };
    this.#blocks.set(key, block);
    const piece = asText(text) ?? "";
    block.text += piece;
    block.signature += asText(signature) ?? "";
    block.redacted += asText(redactedContent) ?? "";
    return piece === "" ? [] : [other({ reasoning_content: piece }, piece)];
  }

  #stop(key: unknown): readonly StreamPart[] {
    const block = this.#blocks.get(key);
    this.#blocks.delete(key);
    if (block?.type === "reasoning") {
      const { text, signature, redacted } = block;
      const sealed = thinkingBlockOf(redacted === "" ? { reasoningText: { text, signature } } : { redactedContent: redacted });
      // Numbered, because official clients merge lists by index.
      return [other({ thinking_blocks: [{ index: this.#reasoningCount++, ...sealed }] }, "")];
    }
    return block && !block.wroteInput ? writeInput(block, "{}") : [];
  }

  #finish(stopReason: unknown): readonly StreamPart[] {
    this.isFinished = true;
    const reason = readStopReason(stopReason, { calledTools: this.#toolCount > 0, saidAnything: this.#saidAnything });
    return [{ type: "finish", choice: 0, reason }];
  }
}

function writeInput(block: Exclude<OpenBlock, { type: "reasoning" }>, piece: string | undefined): readonly StreamPart[] {
  if (piece === undefined) return [];
  block.wroteInput = true;
  if (block.type === "json") return [{ type: "text-delta", choice: 0, text: piece }];
  return [other({ tool_calls: [{ index: block.index, function: { arguments: piece } }] }, piece)];
}

function other(fields: Fields, text: string): StreamPart {
  return { type: "other-delta", choice: 0, fields, text };
}
