import type { ChatChoice, Fields, StreamPart } from "../../upstream/providers/provider.ts";
import { asFields, asList, asText } from "../../upstream/providers/shared/json-fields.ts";

/** One piece of a model's output, independent of any API: other dialects build their answers from pieces, whole and streamed alike. */
export type Piece =
  | { readonly type: "text"; readonly text: string; readonly logprobs?: unknown }
  | { readonly type: "refusal"; readonly text: string }
  | { readonly type: "reasoning"; readonly text: string }
  /** A thinking block with its provider's signature: ends the reasoning before it, or stands alone. */
  | { readonly type: "sealed"; readonly block: Fields }
  /** A tool call or, from its second piece on, more of its arguments. */
  | {
      readonly type: "call";
      readonly index: number;
      readonly id: string | undefined;
      readonly name: string | undefined;
      readonly arguments: string;
    }
  /** What a tool of the gateway did: an item of a response, without its id. */
  | { readonly type: "item"; readonly item: Fields }
  /** Which of the caller's stop sequences ended the answer. */
  | { readonly type: "stop-sequence"; readonly text: string };

/** The field of a delta for items of the gateway's own tools. A symbol: no provider's answer can have it. */
export const GATEWAY_ITEMS: unique symbol = Symbol("items of the gateway's tools");

/** The pieces of a stream part; an answer has one choice here. */
export function piecesOfPart(part: Exclude<StreamPart, { type: "usage" }>): readonly Piece[] {
  if (part.choice !== 0 || part.type === "finish") return [];
  if (part.type === "other-delta") return piecesOfFields(part.fields);
  const logprobs = part.logprobs === undefined ? {} : { logprobs: part.logprobs };
  return part.text === "" && part.logprobs === undefined ? [] : [{ type: "text", text: part.text, ...logprobs }];
}

/** The pieces of a whole answer, in the order of a stream. */
export function piecesOfChoice({ message, logprobs }: ChatChoice): readonly Piece[] {
  const { content, reasoning_content: reasoning, ...fields } = message;
  // Signed blocks contain the reasoning already.
  const thought = asList(message["thinking_blocks"]).length > 0 ? {} : { reasoning_content: reasoning };
  const { thinking, others } = split(piecesOfFields({ ...fields, ...thought }));
  const text = asText(content);
  return [...thinking, ...(text === undefined ? [] : [{ type: "text" as const, text, ...(logprobs ? { logprobs } : {}) }]), ...others];
}

function split(pieces: readonly Piece[]): { thinking: readonly Piece[]; others: readonly Piece[] } {
  const isThinking = ({ type }: Piece) => type === "reasoning" || type === "sealed";
  return { thinking: pieces.filter(isThinking), others: pieces.filter((piece) => !isThinking(piece)) };
}

function piecesOfFields(fields: Fields): Piece[] {
  const said = (type: "reasoning" | "refusal" | "stop-sequence", value: unknown): Piece[] => {
    const text = asText(value);
    return text === undefined ? [] : [{ type, text }];
  };
  return [
    ...said("reasoning", fields["reasoning_content"]),
    ...asList(fields["thinking_blocks"]).map((block): Piece => ({ type: "sealed", block: asFields(block) })),
    ...said("refusal", fields["refusal"]),
    ...asList(fields["tool_calls"]).map((call, position) => callOf(asFields(call), position)),
    ...asList((fields as { readonly [GATEWAY_ITEMS]?: unknown })[GATEWAY_ITEMS]).map(
      (item): Piece => ({ type: "item", item: asFields(item) }),
    ),
    ...said("stop-sequence", fields["stop_sequence"]),
  ];
}

function callOf(call: Fields, position: number): Piece {
  const { name, arguments: text } = asFields(call["function"]);
  const index = typeof call["index"] === "number" ? call["index"] : position;
  return { type: "call", index, id: asText(call["id"]), name: asText(name), arguments: asText(text) ?? "" };
}

/** Arguments as the object that they should be; a model may have written something else. */
export function readArguments(text: string): Fields {
  if (text.trim() === "") return {};
  try {
    const value = JSON.parse(text) as unknown;
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Fields;
  } catch {
    // Returned as text below.
  }
  return { arguments: text };
}
