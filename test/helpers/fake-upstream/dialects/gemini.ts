import { argumentsOf, type Dialect, type FailureTable, type Frame, type Json, placeOf, promptTokens, sse, vectorOf } from "../dialect.ts";
import type { Failure, Finish, Piece, Reply } from "../script.ts";

const FAILURES: FailureTable = {
  context: [400, "INVALID_ARGUMENT", "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."],
  policy: [400, "INVALID_ARGUMENT", "The prompt was rejected as a result of our safety system."],
  auth: [400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."],
  "rate-limit": [429, "RESOURCE_EXHAUSTED", "You exceeded your current quota."],
  server: [500, "INTERNAL", "An internal error has occurred."],
  overloaded: [503, "UNAVAILABLE", "The model is overloaded. Please try again later."],
  "bad-request": [400, "INVALID_ARGUMENT", "Invalid value at 'generation_config.temperature'"],
};
const FINISHES: Readonly<Record<Finish, string>> = {
  stop: "STOP",
  length: "MAX_TOKENS",
  tool_calls: "STOP",
  content_filter: "SAFETY",
  malformed: "MALFORMED_FUNCTION_CALL",
};

/** Gemini's generateContent API. */
export const gemini: Dialect = {
  streamType: "text/event-stream",
  read(path, body) {
    const found = /\/models\/([^/:]+):(generateContent|streamGenerateContent|embedContent|batchEmbedContents)$/.exec(path);
    if (!found) return undefined;
    const [, model = "", method = ""] = found;
    const operation = /embed/i.test(method) ? "embeddings" : "chat";
    return { operation, model: decodeURIComponent(model), stream: method === "streamGenerateContent", body };
  },
  whole: (reply, { body }) =>
    answerOf(reply, reply.pieces.map(partOf), { finish: true, count: body?.generationConfig?.candidateCount ?? 1 }),
  frames: (reply) => framesOf(reply),
  refusal(failure) {
    const [status] = FAILURES[failure];
    return { status, body: errorBody(failure) };
  },
  failureFrame: (failure) => sse(errorBody(failure)).bytes,
  forcedTool: () => undefined,
  other: ({ body }) => embeddings(body),
};

function errorBody(failure: Failure): unknown {
  const [code, status, message] = FAILURES[failure];
  const details =
    failure === "auth"
      ? [{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "API_KEY_INVALID", domain: "googleapis.com" }]
      : [];
  return { error: { code, message, status, details } };
}

function embeddings({ requests }: Json): unknown {
  return {
    embeddings: requests.map(({ content, outputDimensionality }: Json, index: number) => ({
      values: vectorOf(placeOf(content?.parts?.[0]?.text, index), outputDimensionality ?? 8),
    })),
  };
}

function partOf(piece: Piece): unknown {
  if (piece.type === "text") return { text: piece.text };
  if (piece.type === "reasoning") return { text: piece.text, thought: true };
  const { name, fragments, signature } = piece;
  return { functionCall: { name, args: argumentsOf(fragments) }, ...(signature === undefined ? {} : { thoughtSignature: signature }) };
}

function answerOf(reply: Reply, parts: readonly unknown[], { finish, count = 1 }: { finish: boolean; count?: number }): unknown {
  const { usage } = reply;
  const reasoning = usage.reasoning ?? 0;
  const candidate = (index: number) => ({
    ...(parts.length > 0 || !finish ? { content: { role: "model", parts } } : {}),
    index,
    ...(finish ? { finishReason: FINISHES[reply.finish] } : {}),
  });
  return {
    candidates: Array.from({ length: count }, (_, index) => candidate(index)),
    usageMetadata: {
      promptTokenCount: promptTokens(usage),
      cachedContentTokenCount: usage.cacheRead ?? 0,
      candidatesTokenCount: usage.output - reasoning,
      thoughtsTokenCount: reasoning,
      totalTokenCount: promptTokens(usage) + usage.output,
    },
    modelVersion: "gemini-up",
    responseId: "resp-up",
  };
}

/** One chunk per part, and the finish reason in a last chunk, an order that is hard to parse. */
function framesOf(reply: Reply): Frame[] {
  const pieces = reply.pieces.map((piece) => sse(answerOf(reply, [partOf(piece)], { finish: false }), true));
  return [...pieces, sse(answerOf(reply, reply.pieces.length > 0 ? [{ text: "" }] : [], { finish: true }))];
}
