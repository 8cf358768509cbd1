import {
  argumentsOf,
  type Dialect,
  type FailureTable,
  type Frame,
  type Json,
  namedSse,
  placeOf,
  promptTokens,
  vectorOf,
} from "../dialect.ts";
import type { Finish, Piece, Reply } from "../script.ts";

const FAILURES: FailureTable = {
  context: [400, "", "too many tokens: total number of tokens in the prompt exceeds the limit of 4096"],
  policy: [400, "", "the request was blocked by our content management policy"],
  auth: [401, "", "invalid api token"],
  "rate-limit": [429, "", "You are using a Trial key, which is limited to 40 API calls / minute."],
  server: [500, "", "internal server error"],
  overloaded: [503, "", "service unavailable"],
  "bad-request": [400, "", "invalid request: temperature must be between 0 and 1"],
};
const FINISHES: Readonly<Record<Finish, string>> = {
  stop: "COMPLETE",
  length: "MAX_TOKENS",
  tool_calls: "TOOL_CALL",
  content_filter: "ERROR_TOXIC",
  malformed: "ERROR",
};

/** Cohere's v2 API. */
export const cohere: Dialect = {
  streamType: "text/event-stream",
  read(path, body) {
    const found = /\/v2\/(chat|embed)$/.exec(path)?.[1];
    if (found === undefined) return undefined;
    const operation = found === "chat" ? "chat" : "embeddings";
    return { operation, model: String(body?.model ?? ""), stream: body?.stream === true, body };
  },
  whole: (reply) => ({ id: "up", finish_reason: FINISHES[reply.finish], message: messageOf(reply), usage: usageOf(reply) }),
  frames: (reply) => framesOf(reply),
  refusal(failure) {
    const [status, , message] = FAILURES[failure];
    return { status, body: { id: "up", message } };
  },
  failureFrame(failure) {
    const [, , message] = FAILURES[failure];
    return named("message-end", { delta: { finish_reason: "ERROR", error: message } }).bytes;
  },
  forcedTool: () => undefined,
  other: ({ body }) => embeddings(body),
};

function embeddings({ texts, output_dimension: dimensions = 8 }: Json): unknown {
  const float = texts.map((text: string, index: number) => vectorOf(placeOf(text, index), dimensions));
  return { id: "up", embeddings: { float }, meta: { billed_units: { input_tokens: 4 * texts.length } } };
}

function usageOf({ usage }: Reply): unknown {
  const tokens = { input_tokens: promptTokens(usage), output_tokens: usage.output };
  return { billed_units: tokens, tokens };
}

function messageOf({ pieces }: Reply): unknown {
  const content = pieces.flatMap((piece): object[] => {
    if (piece.type === "text") return [{ type: "text", text: piece.text }];
    return piece.type === "reasoning" ? [{ type: "thinking", thinking: piece.text }] : [];
  });
  const toolCalls = pieces.flatMap((piece) =>
    piece.type === "tool"
      ? [{ id: piece.id, type: "function", function: { name: piece.name, arguments: JSON.stringify(argumentsOf(piece.fragments)) } }]
      : [],
  );
  return { role: "assistant", ...(content.length > 0 ? { content } : {}), ...(toolCalls.length > 0 ? { tool_calls: toolCalls } : {}) };
}

const named = (type: string, fields: object, content = false): Frame => namedSse(type, { type, ...fields }, content);

function framesOf(reply: Reply): Frame[] {
  return [
    named("message-start", { id: "up", delta: { message: { role: "assistant", content: [] } } }),
    ...reply.pieces.flatMap(pieceFrames),
    named("message-end", { delta: { finish_reason: FINISHES[reply.finish], usage: usageOf(reply) } }),
  ];
}

function pieceFrames(piece: Piece, index: number): Frame[] {
  const message = (fields: object) => ({ index, delta: { message: fields } });
  if (piece.type === "tool") {
    const start = { id: piece.id, type: "function", function: { name: piece.name, arguments: "" } };
    return [
      named("tool-call-start", message({ tool_calls: start })),
      ...piece.fragments.map((text) => named("tool-call-delta", message({ tool_calls: { function: { arguments: text } } }), true)),
      named("tool-call-end", { index }),
    ];
  }
  const [type, field] = piece.type === "text" ? ["text", "text"] : ["thinking", "thinking"];
  return [
    named("content-start", message({ content: { type, [field]: "" } })),
    named("content-delta", message({ content: { [field]: piece.text } }), true),
    named("content-end", { index }),
  ];
}
