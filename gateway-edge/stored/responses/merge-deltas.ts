import type { Fields } from "../../upstream/providers/provider.ts";

/** Events whose `delta` is a piece of text. */
const MERGED: ReadonlySet<unknown> = new Set([
  "response.output_text.delta",
  "response.refusal.delta",
  "response.reasoning_text.delta",
  "response.reasoning_summary_text.delta",
  "response.function_call_arguments.delta",
  "response.mcp_call_arguments.delta",
]);
/** Far below the largest record. */
const CHARACTERS_MAX = 64 * 1024;

/** Two consecutive deltas of the same text as one event; undefined if they are not. */
export function mergedDelta(first: Fields, second: Fields): Fields | undefined {
  if (!MERGED.has(first["type"])) return undefined;
  const [left, right] = [partsOf(first), partsOf(second)];
  if (left.text === undefined || right.text === undefined || left.place !== right.place) return undefined;
  if (left.text.length + right.text.length > CHARACTERS_MAX) return undefined;
  const logprobs = left.logprobs || right.logprobs ? { logprobs: [...(left.logprobs ?? []), ...(right.logprobs ?? [])] } : {};
  return { ...left.rest, delta: left.text + right.text, ...logprobs };
}

function partsOf(event: Fields) {
  // The padding hides the length of a single delta.
  const { delta, logprobs, sequence_number: _number, obfuscation: _padding, ...rest } = event;
  const probabilities = Array.isArray(logprobs) ? (logprobs as unknown[]) : undefined;
  return { rest, text: typeof delta === "string" ? delta : undefined, logprobs: probabilities, place: JSON.stringify(rest) };
}
