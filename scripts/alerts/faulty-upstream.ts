import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";

/** Longer than the rule of slow first tokens allows. */
const SLOW_MS = 6_000;

export interface FaultyUpstream {
  /** A gateway configuration with a model that always fails and one whose streams begin late. */
  readonly config: string;
  stop(): Promise<void>;
}

/** A provider in OpenAI's dialect with two models: `failing` answers 500, `slow` begins to stream after six seconds. */
export async function startFaultyUpstream(): Promise<FaultyUpstream> {
  const server = createServer(async (request, response) => {
    const { model } = JSON.parse(await text(request)) as { model: string };
    if (model === "failing") {
      response.writeHead(500, { "content-type": "application/json" }).end('{"error":{"message":"out of order","type":"server_error"}}');
      return;
    }
    await sleep(SLOW_MS);
    const chunk = (delta: object, finish_reason: string | null) =>
      `data: ${JSON.stringify({ id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model, choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(`${chunk({ role: "assistant", content: "late" }, null)}${chunk({}, "stop")}data: [DONE]\n\n`);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  return {
    config: JSON.stringify({ model_list: ["failing", "slow"].map((name) => modelOf(name, url)), router_settings: { num_retries: 0 } }),
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

function modelOf(name: string, url: string): object {
  const litellm_params = {
    model: `openai/${name}`,
    api_base: url,
    api_key: "k",
    input_cost_per_token: 0.000001,
    output_cost_per_token: 0.000001,
  };
  return { model_name: name, litellm_params };
}
