import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";

export interface SlowUpstream {
  readonly url: string;
  /** The last user message of each request, in order of arrival. */
  readonly asked: readonly string[];
  stop(): Promise<void>;
}

/** A slow OpenAI-compatible provider that echoes each message. */
export async function startSlowUpstream(milliseconds: number): Promise<SlowUpstream> {
  const asked: string[] = [];
  const server = createServer(async (request, response) => {
    const { messages } = JSON.parse(await text(request)) as { messages: { content: string }[] };
    const content = messages.at(-1)?.content ?? "";
    asked.push(content);
    await sleep(milliseconds);
    const choices = [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }];
    const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ id: "chatcmpl-1", object: "chat.completion", created: 1, model: "slow", choices, usage }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    asked,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
