import { argumentsOf, type Dialect, type FailureTable, type Frame, namedSse } from "../dialect.ts";
import type { Failure, Finish, Piece, Reply } from "../script.ts";

const FAILURES: FailureTable = {
  context: [400, "invalid_request_error", "prompt is too long: 250000 tokens > 200000 maximum"],
  policy: [400, "invalid_request_error", "Output blocked by content management policy"],
  auth: [401, "authentication_error", "invalid x-api-key"],
  "rate-limit": [429, "rate_limit_error", "This request would exceed your rate limit."],
  server: [500, "api_error", "Internal server error"],
  overloaded: [529, "overloaded_error", "Overloaded"],
  "bad-request": [400, "invalid_request_error", "temperature: Input should be less than or equal to 1"],
};
const STOPS: Readonly<Record<Finish, string>> = {
  stop: "end_turn",
  length: "max_tokens",
  tool_calls: "tool_use",
  content_filter: "refusal",
  malformed: "end_turn",
};

/** Anthropic's Messages API. */
export const anthropic: Dialect = {
  streamType: "text/event-stream",
  read: (path, body) =>
    path.endsWith("/v1/messages")
      ? { operation: "chat", model: String(body?.model ?? ""), stream: body?.stream === true, body }
      : undefined,
  whole: (reply, { model }) => ({ ...messageOf(model), content: blocksOf(reply), stop_reason: STOPS[reply.finish], usage: usageOf(reply) }),
  frames: (reply, { model }) => framesOf(reply, model),
  refusal(failure) {
    const [status] = FAILURES[failure];
    return { status, headers: { "request-id": "req_up" }, body: errorBody(failure) };
  },
  failureFrame: (failure) => namedSse("error", errorBody(failure)).bytes,
  forcedTool: (body) => (body?.tool_choice?.type === "tool" ? body.tool_choice.name : undefined),
};

function errorBody(failure: Failure): unknown {
  const [, type, message] = FAILURES[failure];
  return { type: "error", error: { type, message }, request_id: "req_up" };
}

const messageOf = (model: string) => ({
  id: "msg_up",
  type: "message",
  role: "assistant",
  model,
  content: [] as unknown[],
  stop_sequence: null,
});

function usageOf({ usage }: Reply): Record<string, number> {
  return {
    input_tokens: usage.input,
    cache_creation_input_tokens: usage.cacheWrite ?? 0,
    cache_read_input_tokens: usage.cacheRead ?? 0,
    output_tokens: usage.output,
  };
}

/** Consecutive text is one block, thinking is one block with its signature, each tool call is one block. */
function runsOf({ pieces }: Reply): Piece[][] {
  const runs: Piece[][] = [];
  for (const piece of pieces) {
    const last = runs.at(-1);
    if (last?.[0]?.type === piece.type && piece.type !== "tool") last.push(piece);
    else runs.push([piece]);
  }
  return runs;
}

const joined = (run: readonly Piece[]) => run.map((piece) => (piece.type === "tool" ? "" : piece.text)).join("");
const signatureOf = (run: readonly Piece[]) => run.map((piece) => (piece.type === "reasoning" ? (piece.signature ?? "") : "")).join("");

function blocksOf(reply: Reply): unknown[] {
  return runsOf(reply).map((run) => {
    const [first] = run;
    if (first?.type === "tool") return { type: "tool_use", id: first.id, name: first.name, input: argumentsOf(first.fragments) };
    if (first?.type === "reasoning") return { type: "thinking", thinking: joined(run), signature: signatureOf(run) };
    return { type: "text", text: joined(run) };
  });
}

function framesOf(reply: Reply, model: string): Frame[] {
  const { output_tokens: _output, ...input } = usageOf(reply);
  const message = { ...messageOf(model), stop_reason: null, usage: { ...input, output_tokens: 1 } };
  return [
    namedSse("message_start", { type: "message_start", message }),
    namedSse("ping", { type: "ping" }),
    ...runsOf(reply).flatMap(blockFrames),
    namedSse("message_delta", {
      type: "message_delta",
      delta: { stop_reason: STOPS[reply.finish], stop_sequence: null },
      usage: usageOf(reply),
    }),
    namedSse("message_stop", { type: "message_stop" }),
  ];
}

function blockFrames(run: readonly Piece[], index: number): Frame[] {
  const [first] = run;
  const delta = (fields: object) => namedSse("content_block_delta", { type: "content_block_delta", index, delta: fields }, true);
  return [
    namedSse("content_block_start", { type: "content_block_start", index, content_block: startOf(first) }),
    ...run.flatMap((piece) => {
      if (piece.type === "text") return [delta({ type: "text_delta", text: piece.text })];
      if (piece.type === "reasoning") return [delta({ type: "thinking_delta", thinking: piece.text })];
      return piece.fragments.map((partial_json) => delta({ type: "input_json_delta", partial_json }));
    }),
    ...(first?.type === "reasoning" ? [delta({ type: "signature_delta", signature: signatureOf(run) })] : []),
    namedSse("content_block_stop", { type: "content_block_stop", index }),
  ];
}

function startOf(piece: Piece | undefined): unknown {
  if (piece?.type === "tool") return { type: "tool_use", id: piece.id, name: piece.name, input: {} };
  return piece?.type === "reasoning" ? { type: "thinking", thinking: "", signature: "" } : { type: "text", text: "" };
}
