import type { Fields, StreamPart } from "../../../upstream/providers/provider.ts";
import { mergeDeltas } from "./merge-deltas.ts";

/** One choice of a stream, assembled. */
export interface StreamedChoice {
  readonly index: number;
  readonly text: string;
  /** Everything but the text: tool_calls, reasoning_content, refusal, ... */
  readonly fields: Fields;
  readonly finishReason: string | undefined;
  readonly logprobs: unknown;
}

interface Gathered {
  texts: string[];
  fields: Fields;
  finishReason: string | undefined;
  logprobs: Fields | undefined;
}

export function gatherChoices(parts: readonly StreamPart[]): StreamedChoice[] {
  const choices = new Map<number, Gathered>();
  for (const part of parts) {
    if (!("choice" in part)) continue;
    const choice = choices.get(part.choice) ?? { texts: [], fields: {}, finishReason: undefined, logprobs: undefined };
    choices.set(part.choice, choice);
    add(choice, part);
  }
  return [...choices]
    .toSorted(([left], [right]) => left - right)
    .map(([index, { texts, fields, finishReason, logprobs }]) => ({
      index,
      text: texts.join(""),
      fields,
      finishReason,
      logprobs: logprobs ?? null,
    }));
}

function add(choice: Gathered, part: Exclude<StreamPart, { type: "usage" }>): void {
  if (part.type === "text-delta") {
    choice.texts.push(part.text);
    if (part.logprobs) choice.logprobs = mergeDeltas(choice.logprobs ?? {}, part.logprobs as Fields);
  } else if (part.type === "other-delta") choice.fields = mergeDeltas(choice.fields, part.fields);
  else if (part.type === "finish") choice.finishReason = part.reason;
}

const PIECE_LENGTH = 64;

/** A text in pieces as a stream would have them; never splits a surrogate pair. With log-probabilities it is one piece. */
export function textDeltas(choice: number, text: string, logprobs: unknown): StreamPart[] {
  if (logprobs !== null && logprobs !== undefined) return [{ type: "text-delta", choice, text, logprobs }];
  const pieces: StreamPart[] = [];
  for (let start = 0; start < text.length; ) {
    let end = Math.min(start + PIECE_LENGTH, text.length);
    if (end < text.length && /[\uD800-\uDBFF]/.test(text.charAt(end - 1))) end++;
    pieces.push({ type: "text-delta", choice, text: text.slice(start, end) });
    start = end;
  }
  return pieces;
}

const CUT_OFF: ReadonlySet<string> = new Set(["length", "content_filter", "error"]);

/** Whether every choice has a finish of its own. */
export function isWhole(choices: readonly { readonly finishReason: string | undefined }[]): boolean {
  return choices.length > 0 && choices.every(({ finishReason }) => finishReason !== undefined && !CUT_OFF.has(finishReason));
}
