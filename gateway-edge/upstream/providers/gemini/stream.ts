import type { ChatCall, Fields, StreamPart, UpstreamEvent } from "../provider.ts";
import { asFields, asList, brokenOff, malformed } from "../shared/json-fields.ts";
import { candidateIndex, finishReasonOf, readGeminiUsage, readLogprobs, readParts, refuseBlockedPrompt, toolCall } from "./answer.ts";
import { readGeminiInlineError } from "./errors.ts";
import { parsedOrUndefined } from "./fields.ts";

/** What one choice has had so far. */
interface ChoiceState {
  content: boolean;
  calls: number;
  finishReason: unknown;
}

/**
 * Chunks of streamGenerateContent as parts. Finish reasons wait for the end of the stream: a tool call may come in one chunk and STOP in a
 * later one, some models send STOP in every chunk, and only the chunks between tell stop from tool_calls.
 */
export async function* readGeminiStream(events: AsyncIterable<UpstreamEvent>, call: ChatCall): AsyncGenerator<StreamPart> {
  const choices = new Map<number, ChoiceState>();
  let usage: Fields = {};
  for await (const { data } of events) {
    const chunk = readChunk(data);
    // Counts are running totals, and not every chunk has all of them: the last value of each counts.
    usage = { ...usage, ...asFields(chunk["usageMetadata"]) };
    for (const [position, value] of asList(chunk["candidates"]).entries()) {
      const candidate = asFields(value);
      const index = candidateIndex(candidate, position);
      const state = choices.get(index) ?? { content: false, calls: 0, finishReason: undefined };
      choices.set(index, state);
      yield* readPiece(candidate, { index, state, chunk, call });
    }
  }
  const states = [...choices];
  if (states.length === 0 || states.some(([, { finishReason }]) => finishReason === undefined)) throw brokenOff();
  for (const [choice, { finishReason, content, calls }] of states) {
    yield { type: "finish", choice, reason: finishReasonOf(finishReason, { content, calls: calls > 0 }) };
  }
  const reported = readGeminiUsage(usage);
  if (reported) yield { type: "usage", usage: reported };
}

function readChunk(data: string): Fields {
  const value = parsedOrUndefined(data);
  if (value === undefined) throw malformed("an event that is not JSON");
  const chunk = asFields(Array.isArray(value) ? value[0] : value);
  if (chunk["error"] !== undefined) throw readGeminiInlineError(chunk);
  refuseBlockedPrompt(chunk);
  return chunk;
}

function* readPiece(
  candidate: Fields,
  { index, state, chunk, call }: { index: number; state: ChoiceState; chunk: Fields; call: ChatCall },
): Generator<StreamPart> {
  const said = readParts(candidate);
  if (said.thoughts !== "") {
    yield { type: "other-delta", choice: index, fields: { reasoning_content: said.thoughts }, text: said.thoughts };
  }
  if (said.text !== "") {
    const logprobs = readLogprobs(candidate);
    yield { type: "text-delta", choice: index, text: said.text, ...(logprobs === undefined ? {} : { logprobs }) };
  }
  if (said.images.length > 0) yield { type: "other-delta", choice: index, fields: { images: said.images }, text: "" };
  for (const made of said.calls) {
    const order = state.calls++;
    const delta = { index: order, ...toolCall(made, { answer: chunk, call, choice: index, index: order }) };
    yield { type: "other-delta", choice: index, fields: { tool_calls: [delta] }, text: made.name + made.arguments };
  }
  state.content ||= said.text !== "" || said.images.length > 0;
  state.finishReason = candidate["finishReason"] ?? state.finishReason;
}
