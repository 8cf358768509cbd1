import type { AppError } from "../../../../common/errors.ts";
import { digitsOfCall } from "../../../../common/ids.ts";
import { inputTokens, type Usage } from "../../../credit/pricing/usage.ts";
import type { ResponsesRequest } from "../../../schemas/calls/responses.ts";
import type { ChatAnswer, Fields } from "../../../upstream/providers/provider.ts";
import { asFields, asList } from "../../../upstream/providers/shared/json-fields.ts";
import { type FinishCause, finishDetails } from "../../formats/finish-details.ts";
import type { Bill } from "../../inference/bill.ts";
import { type Piece, piecesOfChoice } from "../pieces.ts";
import { ResponseOutput } from "./output.ts";

/** What all objects of one response share. */
export interface ResponseIdentity {
  readonly suffix: string;
  readonly createdSeconds: number;
  readonly model: string;
  readonly request: ResponsesRequest;
}

export function responseId(suffix: string): string {
  return `resp_${suffix}`;
}

/** The id of a call without its prefix: ids of a response and of its items contain it. */
export function suffixOf(callId: string): string {
  return digitsOfCall(callId);
}

/** The state of a response. */
export type ResponseState =
  | { readonly status: "in_progress" }
  | { readonly status: "queued" }
  | { readonly status: "failed"; readonly error: AppError; readonly output: readonly Fields[] }
  | {
      readonly status: "ended";
      readonly finishReason: string;
      readonly cause?: FinishCause | undefined;
      readonly output: readonly Fields[];
      readonly usage: Fields;
      readonly nowMs: number;
    };

/** A whole answer, as it is stored. */
export function wholeResponse(identity: ResponseIdentity, answer: ChatAnswer, context: { bill: Bill; nowMs: number }): Fields {
  const [choice] = answer.choices;
  const pieces = choice ? piecesOfChoice(choice) : [];
  return responseOfPieces(identity, { pieces, finishReason: choice?.finishReason ?? "stop" }, context);
}

export function responseOfPieces(
  identity: ResponseIdentity,
  { pieces, finishReason }: { pieces: readonly Piece[]; finishReason: string },
  { bill, nowMs }: { bill: Bill; nowMs: number },
): Fields {
  const output = new ResponseOutput(identity.suffix);
  for (const piece of pieces) output.take(piece);
  output.close(itemStatus(finishReason));
  return responseFields(identity, { status: "ended", finishReason, output: output.items(), usage: responseUsage(bill.usage), nowMs });
}

const INCOMPLETE: Readonly<Record<string, string>> = { length: "max_output_tokens", content_filter: "content_filter" };

/** Whether an item that was open when the model stopped is complete. */
export function itemStatus(finishReason: string): "completed" | "incomplete" {
  return INCOMPLETE[finishReason] === undefined ? "completed" : "incomplete";
}

/** The request fields that a response repeats, with their defaults. */
const ECHOED: Fields = {
  instructions: null,
  max_output_tokens: null,
  max_tool_calls: null,
  parallel_tool_calls: true,
  previous_response_id: null,
  prompt_cache_key: null,
  safety_identifier: null,
  service_tier: "default",
  store: true,
  temperature: 1,
  tool_choice: "auto",
  top_logprobs: 0,
  top_p: 1,
  user: null,
  metadata: {},
};

/** Every key is present in every state: typed clients read them unchecked. */
export function responseFields({ request, createdSeconds, model, suffix }: ResponseIdentity, state: ResponseState): Fields {
  const { reasoning, text, tools } = request;
  return {
    id: responseId(suffix),
    object: "response",
    created_at: createdSeconds,
    background: request.background ?? false,
    model,
    ...Object.fromEntries(Object.entries(ECHOED).map(([name, fallback]) => [name, request[name] ?? fallback])),
    reasoning: { effort: null, summary: null, ...reasoning },
    text: { ...text, format: text?.format ?? { type: "text" } },
    tools: asList(tools).map((tool) => ({ strict: null, description: null, ...asFields(tool) })),
    // The gateway never truncates a conversation, whatever the request says.
    truncation: "disabled",
    ...(request.prompt && { prompt: request.prompt }),
    ...conversationField(request),
    ...stateFields(state),
  };
}

export function conversationField({ conversation }: ResponsesRequest): Fields {
  if (conversation === undefined) return {};
  return { conversation: { id: typeof conversation === "string" ? conversation : conversation.id } };
}

function stateFields(state: ResponseState): Fields {
  const open = { completed_at: null, error: null, incomplete_details: null, usage: null };
  if (state.status === "in_progress" || state.status === "queued") return { ...open, status: state.status, output: [] };
  if (state.status === "failed") return { ...open, status: state.status, error: errorOf(state.error), output: state.output };
  const { output, usage, finishReason, cause, nowMs } = state;
  const reason = INCOMPLETE[finishReason];
  const details = { reason, ...(cause && finishDetails(cause)) };
  if (reason !== undefined) return { ...open, status: "incomplete", incomplete_details: details, output, usage };
  return { ...open, status: "completed", completed_at: Math.floor(nowMs / 1000), output, usage };
}

export function responseUsage(usage: Usage): Fields {
  const input = inputTokens(usage);
  const output = usage.output + usage.reasoning + usage.audioOutput;
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: usage.cachedInput, cache_write_tokens: usage.cacheWrite },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: usage.reasoning },
    total_tokens: input + output,
  };
}

/** This API's error codes of a failed response. */
function errorOf({ code, message }: AppError): Fields {
  const known =
    code === "RATE_LIMIT_EXCEEDED" ? "rate_limit_exceeded" : code === "CONTEXT_LENGTH_EXCEEDED" ? "invalid_prompt" : "server_error";
  return { code: known, message };
}

/** The `include` value for encrypted reasoning. */
export const SEALED = "reasoning.encrypted_content";

/** A response as its caller sees it: encrypted reasoning only where it was requested. */
export function shownResponse(response: Fields, include: readonly string[]): Fields {
  const output = asList(response["output"]).map((item) => shownItem(asFields(item), include));
  return { ...response, output };
}

const SEARCH_RESULTS = "file_search_call.results";

export function shownItem(item: Fields, include: readonly string[]): Fields {
  if (item["type"] === "file_search_call" && !include.includes(SEARCH_RESULTS)) return { ...item, results: null };
  if (item["type"] !== "reasoning" || include.includes(SEALED)) return item;
  const { encrypted_content: _sealed, ...shown } = item;
  return shown;
}
