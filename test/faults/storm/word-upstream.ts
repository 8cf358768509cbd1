import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";

/** Three bytes: one token in every way of counting that the gateway has. */
export const WORD = " go";
const PROMPT_TOKENS = 9;

/** What an upstream knows of one request: its own log, which the gateway never sees. */
export interface Emitted {
  words: number;
  /** When each word was sent. */
  readonly sentAtMs: number[];
  ended: boolean;
}

export interface WordUpstream {
  readonly url: string;
  /** By the name that the client gave its call; a call that was tried again has several. */
  readonly log: ReadonlyMap<string, readonly Emitted[]>;
  /** How many streams are being sent now. */
  speaking(): number;
  stop(): Promise<void>;
}

/** A provider in OpenAI's dialect that says one word after another. The last message is `name words milliseconds-between`. */
export async function startWordUpstream(): Promise<WordUpstream> {
  const log = new Map<string, Emitted[]>();
  let speaking = 0;
  const server = createServer({ keepAliveTimeout: 60_000 }, async (request, response) => {
    const { messages } = JSON.parse(await text(request)) as { messages: { content: string }[] };
    const [name = "", words = "1", betweenMs = "0"] = messages.at(-1)?.content.split(" ") ?? [];
    const emitted: Emitted = { words: 0, sentAtMs: [], ended: false };
    log.set(name, [...(log.get(name) ?? []), emitted]);
    speaking++;
    await speak(response, { emitted, words: Number(words), betweenMs: Number(betweenMs) }).finally(() => {
      speaking--;
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    log,
    speaking: () => speaking,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

async function speak(
  response: ServerResponse,
  { emitted, words, betweenMs }: { emitted: Emitted; words: number; betweenMs: number },
): Promise<void> {
  const send = (more: object) =>
    response.write(
      `data: ${JSON.stringify({ id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "words", ...more })}\n\n`,
    );
  const choice = (delta: object, reason: string | null) => ({ choices: [{ index: 0, delta, finish_reason: reason }] });
  response.writeHead(200, { "content-type": "text/event-stream" });
  send(choice({ role: "assistant", content: "" }, null));
  while (emitted.words < words) {
    if (response.destroyed) return;
    send(choice({ content: WORD }, null));
    emitted.words++;
    emitted.sentAtMs.push(performance.now());
    await sleep(betweenMs);
  }
  send(choice({}, "stop"));
  send({ choices: [], usage: { prompt_tokens: PROMPT_TOKENS, completion_tokens: words, total_tokens: PROMPT_TOKENS + words } });
  response.end("data: [DONE]\n\n");
  emitted.ended = true;
}

/** A gateway configuration whose one model goes there: 1 and 2 USD per million tokens. */
export function wordModel(upstreamUrl: string): string {
  const params = {
    model: "openai/words",
    api_base: upstreamUrl,
    api_key: "k",
    input_cost_per_token: 0.000001,
    output_cost_per_token: 0.000002,
  };
  return JSON.stringify({ model_list: [{ model_name: "words", litellm_params: params }], router_settings: { num_retries: 0 } });
}
