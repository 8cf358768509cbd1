import { type Asked, argumentsOf, type Dialect, type FailureTable, type Frame, type Json, namedSse, promptTokens } from "../dialect.ts";
import type { Piece, Reply } from "../script.ts";

const FAILURES: FailureTable = {
  context: [400, "context_length_exceeded", "Your input exceeds the context window of this model."],
  policy: [400, "content_policy_violation", "Your request was rejected as a result of our safety system."],
  auth: [401, "invalid_api_key", "Incorrect API key provided: sk-upst**********alse."],
  "rate-limit": [429, "rate_limit_exceeded", "Rate limit reached for requests"],
  server: [500, "server_error", "The server had an error while processing your request."],
  overloaded: [503, "server_error", "The engine is currently overloaded."],
  "bad-request": [400, "invalid_value", "Invalid value for 'temperature'."],
};

/** A server with only OpenAI's Responses API. */
export const openaiResponses: Dialect = {
  streamType: "text/event-stream",
  read(path, body) {
    return path.endsWith("/responses")
      ? { operation: "chat", model: String(body?.model ?? ""), stream: body?.stream === true, body }
      : undefined;
  },
  whole: (reply, asked) => responseOf(reply, asked),
  frames,
  refusal(failure) {
    const [status, code, message] = FAILURES[failure];
    return { status, body: { error: { message, type: "invalid_request_error", param: null, code } } };
  },
  failureFrame(failure) {
    const [, code, message] = FAILURES[failure];
    return namedSse("error", { type: "error", code, message, param: null, sequence_number: 99 }).bytes;
  },
  forcedTool: (body) => body?.tool_choice?.name,
};

type Item = Json & { readonly id: string; readonly type: string };

/** Output items and their parts. */
function itemsOf(reply: Reply, { body }: Asked): { item: Item; pieces: Piece[] }[] {
  const searches = (body.tools ?? []).some(({ type }: Json) => type === "web_search");
  const items: { item: Item; pieces: Piece[] }[] = searches
    ? [{ item: { id: "ws_up", type: "web_search_call", status: "completed", action: { type: "search", query: "q" } }, pieces: [] }]
    : [];
  for (const piece of reply.pieces) {
    const last = items.at(-1);
    if (piece.type !== "tool" && last?.pieces[0]?.type === piece.type) last.pieces.push(piece);
    else items.push({ item: newItem(piece, items.length), pieces: [piece] });
  }
  return items;
}

function newItem(piece: Piece, index: number): Item {
  if (piece.type === "text") return { id: `msg_up${index}`, type: "message", role: "assistant", status: "completed" };
  if (piece.type === "reasoning") return { id: `rs_up${index}`, type: "reasoning", encrypted_content: "gAAA-sealed" };
  return { id: `fc_up${index}`, type: "function_call", call_id: piece.id, name: piece.name, status: "completed" };
}

const textIn = (pieces: readonly Piece[]) => pieces.map((piece) => (piece.type === "tool" ? "" : piece.text)).join("");

function wholeItem({ item, pieces: [...pieces] }: { item: Item; pieces: Piece[] }): Item {
  const [first] = pieces;
  if (item.type === "message") return { ...item, content: [{ type: "output_text", text: textIn(pieces), annotations: [], logprobs: [] }] };
  if (item.type === "reasoning") return { ...item, summary: [{ type: "summary_text", text: textIn(pieces) }] };
  return first?.type === "tool" ? { ...item, arguments: JSON.stringify(argumentsOf(first.fragments)) } : item;
}

function responseOf(reply: Reply, asked: Asked): Json {
  const { usage } = reply;
  const input = promptTokens(usage);
  return {
    ...unfinished(asked),
    status: reply.finish === "length" ? "incomplete" : "completed",
    incomplete_details: reply.finish === "length" ? { reason: "max_output_tokens" } : null,
    output: itemsOf(reply, asked).map(wholeItem),
    usage: {
      input_tokens: input,
      input_tokens_details: { cached_tokens: usage.cacheRead ?? 0 },
      output_tokens: usage.output,
      output_tokens_details: { reasoning_tokens: usage.reasoning ?? 0 },
      total_tokens: input + usage.output,
    },
  };
}

function unfinished({ model, body }: Asked): Json {
  const { instructions = null, tools = [], tool_choice = "auto", max_output_tokens, store, temperature = 1, reasoning } = body;
  return {
    id: "resp_of_upstream",
    object: "response",
    created_at: 1,
    status: "in_progress",
    model: `${model}-2026-01-01`,
    output: [],
    error: null,
    incomplete_details: null,
    usage: null,
    ...{ instructions, tools, tool_choice, max_output_tokens, store, temperature, top_p: 1, parallel_tool_calls: true, metadata: {} },
    previous_response_id: null,
    reasoning: { effort: null, summary: null, ...reasoning },
    text: { format: { type: "text" }, ...body.text },
    truncation: "disabled",
  };
}

function frames(reply: Reply, asked: Asked): Frame[] {
  let number = 0;
  const event = (type: string, fields: object, content = false) => namedSse(type, { type, ...fields, sequence_number: number++ }, content);
  return [
    event("response.created", { response: unfinished(asked) }),
    event("response.in_progress", { response: unfinished(asked) }),
    ...itemsOf(reply, asked).flatMap((made, output_index) => {
      const empty = { ...made.item, content: [], summary: [], arguments: "", status: "in_progress" };
      return [
        event("response.output_item.added", { output_index, item: empty }),
        ...deltasOf(made).map(([type, fields, content]) => event(type, { item_id: made.item.id, output_index, ...fields }, content)),
        event("response.output_item.done", { output_index, item: wholeItem(made) }),
      ];
    }),
    event(reply.finish === "length" ? "response.incomplete" : "response.completed", { response: responseOf(reply, asked) }),
  ];
}

type Delta = [type: string, fields: object, content: boolean];

function deltasOf({ item, pieces }: { item: Item; pieces: Piece[] }): Delta[] {
  const [first] = pieces;
  if (item.type === "message") {
    const part = { type: "output_text", text: "", annotations: [], logprobs: [] };
    const text = textIn(pieces);
    return [
      ["response.content_part.added", { content_index: 0, part }, false],
      ...pieces.map((piece): Delta => ["response.output_text.delta", { content_index: 0, delta: textIn([piece]), logprobs: [] }, true]),
      ["response.output_text.done", { content_index: 0, text, logprobs: [] }, false],
      ["response.content_part.done", { content_index: 0, part: { ...part, text } }, false],
    ];
  }
  if (item.type === "reasoning") {
    const part = { type: "summary_text", text: "" };
    return [
      ["response.reasoning_summary_part.added", { summary_index: 0, part }, false],
      ...pieces.map((piece): Delta => ["response.reasoning_summary_text.delta", { summary_index: 0, delta: textIn([piece]) }, true]),
      ["response.reasoning_summary_text.done", { summary_index: 0, text: textIn(pieces) }, false],
    ];
  }
  if (first?.type !== "tool") return [["response.web_search_call.completed", {}, false]];
  const text = JSON.stringify(argumentsOf(first.fragments));
  return [
    ...first.fragments.map((delta): Delta => ["response.function_call_arguments.delta", { delta }, true]),
    ["response.function_call_arguments.done", { arguments: text, name: first.name }, false],
  ];
}
