import type { Fields } from "../../../upstream/providers/provider.ts";
import { asText } from "../../../upstream/providers/shared/json-fields.ts";
import { type Piece, readArguments } from "../pieces.ts";

type Block =
  | { readonly type: "text"; text: string }
  | { readonly type: "thinking"; thinking: string; signature: string }
  | { readonly type: "redacted_thinking"; readonly data: string }
  | { readonly type: "tool_use"; readonly id: string; readonly name: string; json: string };

/** One event of an Anthropic stream: its name is its type. */
export type MessageEvent = Fields & { readonly type: string };

const EXPLANATION_CHARACTERS_MAX = 65_536;

/**
 * The content of a message while it grows. Whole answers and streams are built by the same steps, so that the events of a stream assemble
 * to the whole answer.
 */
export class MessageBlocks {
  readonly #blocks: Block[] = [];
  readonly #callBlocks = new Map<number, number>();
  readonly #showsThinking: boolean;
  readonly #keepsText: boolean;
  #open: number | undefined;
  #explanation: string | undefined;
  #stopSequence: string | undefined;

  /**
   * Thinking that the caller did not ask for is shown only with a signature: its provider may need it back. `keepsText`: whether `content`
   * will be read; a stream does not need it, whatever its length.
   */
  constructor({ showsThinking, keepsText }: { showsThinking: boolean; keepsText: boolean }) {
    this.#showsThinking = showsThinking;
    this.#keepsText = keepsText;
  }

  /** The model's own text of a refusal. */
  get explanation(): string | undefined {
    return this.#explanation;
  }

  get stopSequence(): string | undefined {
    return this.#stopSequence;
  }

  content(): readonly Fields[] {
    return this.#blocks.map((block) => {
      if (block.type !== "tool_use") return { ...block };
      const { json, ...call } = block;
      return { ...call, input: readArguments(json) };
    });
  }

  take(piece: Piece): readonly MessageEvent[] {
    switch (piece.type) {
      case "text":
        return piece.text === "" ? [] : this.#say("text", piece.text);
      case "reasoning":
        return this.#showsThinking ? this.#say("thinking", piece.text) : [];
      case "sealed":
        return this.#seal(piece.block);
      case "call":
        return this.#call(piece);
      case "refusal":
        this.#explanation = ((this.#explanation ?? "") + piece.text).slice(0, EXPLANATION_CHARACTERS_MAX);
        return [];
      case "item":
        // Only the Responses API has items.
        return [];
      case "stop-sequence":
        this.#stopSequence = piece.text;
        return [];
    }
  }

  /** Ends the open block. */
  close(): readonly MessageEvent[] {
    if (this.#open === undefined) return [];
    const index = this.#open;
    this.#open = undefined;
    return [{ type: "content_block_stop", index }];
  }

  #say(type: "text" | "thinking", text: string): readonly MessageEvent[] {
    const open = this.#openBlock();
    const started = open?.type === type ? [] : this.#start(type === "text" ? { type, text: "" } : { type, thinking: "", signature: "" });
    const block = this.#openBlock();
    if (this.#keepsText && block?.type === "text") block.text += text;
    if (this.#keepsText && block?.type === "thinking") block.thinking += text;
    return [...started, this.#delta(type === "text" ? { type: "text_delta", text } : { type: "thinking_delta", thinking: text })];
  }

  #seal(sealed: Fields): readonly MessageEvent[] {
    if (sealed["type"] === "redacted_thinking") {
      return [...this.#start({ type: "redacted_thinking", data: asText(sealed["data"]) ?? "" }), ...this.close()];
    }
    const text = asText(sealed["thinking"]) ?? "";
    const isOpen = this.#openBlock()?.type === "thinking";
    const started = isOpen ? [] : [...this.#start({ type: "thinking", thinking: "", signature: "" }), ...this.#thought(text)];
    const signature = asText(sealed["signature"]) ?? "";
    const block = this.#openBlock();
    if (block?.type === "thinking") block.signature += signature;
    return [...started, this.#delta({ type: "signature_delta", signature }), ...this.close()];
  }

  #thought(text: string): readonly MessageEvent[] {
    return text === "" ? [] : this.#say("thinking", text);
  }

  #call({ index, id, name, arguments: json }: Extract<Piece, { type: "call" }>): readonly MessageEvent[] {
    const known = this.#callBlocks.get(index);
    const started = known === undefined ? this.#start({ type: "tool_use", id: id ?? `toolu_${index}`, name: name ?? "", json: "" }) : [];
    const at = known ?? this.#blocks.length - 1;
    this.#callBlocks.set(index, at);
    const block = this.#blocks[at];
    if (json === "" || block?.type !== "tool_use") return started;
    if (this.#keepsText) block.json += json;
    // By its own index: a server that writes two tool calls at once continues one that is closed here, and clients add by index.
    return [...started, { type: "content_block_delta", index: at, delta: { type: "input_json_delta", partial_json: json } }];
  }

  /** Never two open blocks: clients show the last one. */
  #start(block: Block): readonly MessageEvent[] {
    const closed = this.close();
    this.#blocks.push(block);
    this.#open = this.#blocks.length - 1;
    const { json: _json, ...shown } = block.type === "tool_use" ? { ...block, input: {} } : { ...block, json: undefined };
    return [...closed, { type: "content_block_start", index: this.#open, content_block: shown }];
  }

  #delta(delta: Fields): MessageEvent {
    return { type: "content_block_delta", index: this.#open, delta };
  }

  #openBlock(): Block | undefined {
    return this.#open === undefined ? undefined : this.#blocks[this.#open];
  }
}
