import { setImmediate as nextTurn } from "node:timers/promises";
import type { CancelSignal } from "../../../../common/cancel.ts";
import type { Send, UpstreamResponse } from "../provider.ts";
import { answerMedia } from "./media.ts";
import { messageText, splitTokens } from "./tokens.ts";

interface EchoBody {
  model: string;
  messages: { role: string; content?: unknown }[];
  max_tokens?: number;
  max_completion_tokens?: number;
  n?: number;
  stop?: string | string[];
  stream?: boolean;
  stream_options?: { include_usage?: boolean };
}

interface Reply {
  tokens: string[];
  finishReason: "stop" | "length";
  usage: object;
}

/** After this many tokens other work of this process may run. */
const TOKENS_PER_TURN = 16;

/** An upstream inside this process. It has OpenAI's wire format like any other, so that no caller treats it specially. */
export const echoUpstream: Send = async (request, signal) => {
  signal.throwIfAborted();
  const other = await answerMedia(request.url.slice(request.url.indexOf("/v1/") + 4), request);
  if (other) return other;
  const body = JSON.parse(String(request.body)) as EchoBody;
  const reply = replyTo(body);
  if (body.stream === true) return respond("text/event-stream", streamed(body, { reply, signal }));
  return respond("application/json", whole(body, reply));
};

function replyTo(body: EchoBody): Reply {
  const lastUser = body.messages.findLast((message) => message.role === "user");
  const text = cutAtStop(lastUser ? messageText(lastUser) : "", body.stop);
  const all = splitTokens(text);
  const limit = body.max_completion_tokens ?? body.max_tokens ?? all.length;
  const tokens = all.slice(0, limit);
  const prompt = body.messages.reduce((sum, message) => sum + Math.max(1, splitTokens(messageText(message)).length), 0);
  const completion = tokens.length * (body.n ?? 1);
  return {
    tokens,
    finishReason: tokens.length < all.length ? "length" : "stop",
    usage: {
      prompt_tokens: prompt,
      completion_tokens: completion,
      total_tokens: prompt + completion,
      prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0 },
    },
  };
}

function cutAtStop(text: string, stop: EchoBody["stop"]): string {
  const stops = typeof stop === "string" ? [stop] : (stop ?? []);
  const ends = stops
    .filter((word) => word !== "")
    .map((word) => text.indexOf(word))
    .filter((at) => at >= 0);
  return ends.length === 0 ? text : text.slice(0, Math.min(...ends));
}

async function* whole(body: EchoBody, { tokens, finishReason, usage }: Reply): AsyncGenerator<string> {
  const content = tokens.join("");
  const choices = Array.from({ length: body.n ?? 1 }, (_, index) => ({
    index,
    message: { role: "assistant", content, refusal: null },
    logprobs: null,
    finish_reason: finishReason,
  }));
  yield JSON.stringify({ object: "chat.completion", model: body.model, choices, usage });
}

async function* streamed(body: EchoBody, { reply, signal }: { reply: Reply; signal: CancelSignal }): AsyncGenerator<string> {
  const count = body.n ?? 1;
  const frame = (choices: object[], usage?: object) =>
    `data: ${JSON.stringify({ object: "chat.completion.chunk", model: body.model, choices, ...(usage ? { usage } : {}) })}\n\n`;
  const each = (delta: object, finish: string | null) =>
    Array.from({ length: count }, (_, index) => frame([{ index, delta, finish_reason: finish }])).join("");
  yield each({ role: "assistant", content: "" }, null);
  for (const [index, token] of reply.tokens.entries()) {
    if (index % TOKENS_PER_TURN === 0) await nextTurn();
    signal.throwIfAborted();
    yield each({ content: token }, null);
  }
  yield each({}, reply.finishReason);
  if (body.stream_options?.include_usage === true) yield frame([], reply.usage);
  yield "data: [DONE]\n\n";
}

function respond(contentType: string, text: AsyncIterable<string>): UpstreamResponse {
  return { status: 200, headers: { "content-type": contentType }, body: encode(text) };
}

async function* encode(text: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  for await (const piece of text) yield Buffer.from(piece, "utf8");
}
