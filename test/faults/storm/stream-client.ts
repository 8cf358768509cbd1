import { type IncomingMessage, request } from "node:http";
import { WORD } from "./word-upstream.ts";

/** What a client knows of one call: its own log. */
export interface ClientCall {
  readonly name: string;
  /** As the gateway named it; undefined when no head came. */
  callId: string | undefined;
  status: number | undefined;
  words: number;
  /** When each of them came. */
  readonly cameAtMs: number[];
  /** The stream's own end came. */
  done: boolean;
  /** An error inside the stream, or the body of a refusal. */
  error: string | undefined;
  finishReason: string | undefined;
  /** What the gateway said it costs. */
  costNano: number | undefined;
  /** The connection broke before the end. */
  broken: boolean;
  /** When the client broke it. */
  leftAtMs: number | undefined;
}

export interface Asked {
  readonly url: string;
  readonly key: string;
  readonly name: string;
  readonly words: number;
  readonly betweenMs: number;
  readonly maxTokens?: number;
  /** The client leaves after so many words. */
  readonly leavesAfter?: number | undefined;
}

/** One streamed call over a connection of its own, so that calls are spread over the edges; never throws. */
export function streamCall({ url, key, name, words, betweenMs, maxTokens = 400, leavesAfter }: Asked): Promise<ClientCall> {
  const call: ClientCall = {
    name,
    callId: undefined,
    status: undefined,
    words: 0,
    cameAtMs: [],
    done: false,
    error: undefined,
    finishReason: undefined,
    costNano: undefined,
    broken: false,
    leftAtMs: undefined,
  };
  const body = JSON.stringify({
    model: "words",
    stream: true,
    stream_options: { include_usage: true },
    max_tokens: maxTokens,
    user: name,
    messages: [{ role: "user", content: `${name} ${words} ${betweenMs}` }],
  });
  const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body), "x-gw-api-key": key };
  const { promise, resolve } = Promise.withResolvers<ClientCall>();
  const sent = request(`${url}/v1/chat/completions`, { method: "POST", agent: false, headers }, (response) => {
    call.status = response.statusCode;
    call.callId = response.headers["x-gw-call-id"] as string | undefined;
    read(response, call, () => {
      if (leavesAfter === undefined || call.words < leavesAfter) return;
      call.leftAtMs = performance.now();
      sent.destroy();
    });
  });
  sent.on("error", () => {
    call.broken = true;
  });
  sent.on("close", () => resolve(call));
  sent.end(body);
  return promise;
}

function read(response: IncomingMessage, call: ClientCall, afterEach: () => void): void {
  let rest = "";
  response.setEncoding("utf8");
  response.on("data", (chunk: string) => {
    const frames = (rest + chunk).split("\n\n");
    rest = frames.pop() ?? "";
    if (call.status !== 200) return;
    for (const frame of frames) take(frame, call);
    afterEach();
  });
  response.on("end", () => {
    if (call.status !== 200) call.error = rest;
  });
  response.on("error", () => {
    call.broken = true;
  });
}

interface Chunk {
  choices?: { delta?: { content?: string }; finish_reason?: string | null }[];
  error?: object;
  cost_nano?: number;
}

function take(frame: string, call: ClientCall): void {
  if (!frame.startsWith("data: ")) return;
  const data = frame.slice("data: ".length);
  if (data === "[DONE]") {
    call.done = true;
    return;
  }
  const { choices = [], error, cost_nano: costNano } = JSON.parse(data) as Chunk;
  if (error) call.error = JSON.stringify(error);
  if (costNano !== undefined) call.costNano = costNano;
  for (const { delta, finish_reason: reason } of choices) {
    if (delta?.content) {
      const words = delta.content.length / WORD.length;
      call.words += words;
      call.cameAtMs.push(...Array<number>(words).fill(performance.now()));
    }
    if (reason) call.finishReason = reason;
  }
}
