import {
  argumentsOf,
  type Dialect,
  type FailureTable,
  type Frame,
  frame,
  type Json,
  promptTokens,
  reasoningOf,
  textOf,
  vectorOf,
} from "../dialect.ts";
import type { Piece, Reply } from "../script.ts";

const FAILURES: FailureTable = {
  context: [400, "", "the request exceeds the available context size, try increasing it"],
  policy: [400, "", "content_policy_violation"],
  auth: [401, "", "unauthorized"],
  "rate-limit": [429, "", "too many requests"],
  server: [500, "", "llama runner process has terminated"],
  overloaded: [503, "", "server busy, please try again. maximum pending requests exceeded"],
  "bad-request": [400, "", "invalid options"],
};
const NOW = "2026-11-15T00:00:00.000Z";

/** Ollama's native API: NDJSON. */
export const ollama: Dialect = {
  streamType: "application/x-ndjson",
  read(path, body) {
    const found = /\/api\/(chat|embed)$/.exec(path)?.[1];
    if (found === undefined) return undefined;
    const operation = found === "chat" ? "chat" : "embeddings";
    return { operation, model: String(body?.model ?? ""), stream: operation === "chat" && body?.stream !== false, body };
  },
  whole: (reply, { model }) => ({ model, created_at: NOW, message: messageOf(reply), ...endOf(reply) }),
  frames: (reply, { model }) => framesOf(reply, model),
  refusal(failure) {
    const [status, , error] = FAILURES[failure];
    return { status, body: { error } };
  },
  failureFrame: (failure) => Buffer.from(`${JSON.stringify({ error: FAILURES[failure][2] })}\n`),
  forcedTool: () => undefined,
  other: ({ model, body }) => embeddings(model, body),
};

function embeddings(model: string, { input, dimensions = 8 }: Json): unknown {
  const inputs: unknown[] = Array.isArray(input) ? input : [input];
  return { model, embeddings: inputs.map((_, index) => vectorOf(index, dimensions)), prompt_eval_count: 4 * inputs.length };
}

function endOf({ finish, usage }: Reply): object {
  const reason = finish === "length" ? "length" : "stop";
  return { done: true, done_reason: reason, prompt_eval_count: promptTokens(usage), eval_count: usage.output };
}

const callOf = (piece: Piece) =>
  piece.type === "tool" ? [{ function: { name: piece.name, arguments: argumentsOf(piece.fragments) } }] : [];

function messageOf(reply: Reply): unknown {
  const calls = reply.pieces.flatMap(callOf);
  const thinking = reasoningOf(reply);
  return {
    role: "assistant",
    content: textOf(reply),
    ...(thinking === "" ? {} : { thinking }),
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
  };
}

function framesOf(reply: Reply, model: string): Frame[] {
  const line = (message: object, more: object, content: boolean) =>
    frame(`${JSON.stringify({ model, created_at: NOW, message: { role: "assistant", content: "", ...message }, ...more })}\n`, content);
  const pieces = reply.pieces.map((piece) => {
    if (piece.type === "text") return line({ content: piece.text }, { done: false }, true);
    if (piece.type === "reasoning") return line({ thinking: piece.text }, { done: false }, true);
    return line({ tool_calls: callOf(piece) }, { done: false }, true);
  });
  return [...pieces, line({}, endOf(reply), false)];
}
