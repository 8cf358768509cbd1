import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { countTokens as countByCl100k } from "gpt-tokenizer/encoding/cl100k_base";
import { countTokens as countByO200k } from "gpt-tokenizer/encoding/o200k_base";
import { deployment, FakeControl, startEdge, type TestEdge } from "./edge-fixture.ts";

const TEXT =
  "Every press of Stop ends a stream before its provider says what was used: then what was delivered is counted here, by the " +
  "model's own vocabulary. Zahlen wie 1234567, 日本語の文章, `code_like(this)` and contractions aren't counted by their bytes.";
const WORDS = TEXT.split(/(?<=[a-z,.])(?= )/);
const MESSAGES = [{ role: "user", content: "Say it." }];

type Ending = "hangs" | "resets" | "ends without usage";

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

/** A provider in OpenAI's dialect on a socket of its own that says a text and then ends as asked. */
async function startUpstream(ending: Ending): Promise<string> {
  const server = createServer(async (request, response) => {
    await request.toArray();
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const word of WORDS) await say(response, { choices: [{ index: 0, delta: { content: word }, finish_reason: null }] });
    if (ending === "hangs") return;
    // What was sent has to be on its way before the connection is torn down.
    await delay(50);
    if (ending === "resets") return void response.socket?.resetAndDestroy();
    await say(response, { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] });
    response.end("data: [DONE]\n\n");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closing.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

function say(response: ServerResponse, fields: object): Promise<void> {
  return new Promise((resolve) => {
    response.write(`data: ${JSON.stringify(fields)}\n\n`, () => resolve());
  });
}

async function open(ending: Ending, model = "gpt-4o") {
  const control = new FakeControl();
  const baseUrl = await startUpstream(ending);
  const info = JSON.stringify({ supports_responses: false });
  const row = deployment({ modelName: "m" });
  control.deployments.push({ ...row, id: "dep_m", providerKind: "openai", inferenceModelId: model, baseUrl, apiKey: "k", info });
  control.settings = JSON.stringify({ router_settings: { num_retries: 0 } });
  const edge: TestEdge = await startEdge(control);
  closing.push(() => edge.close());
  const { secret } = control.addKey();
  return { edge, control, auth: { authorization: `Bearer ${secret}`, "content-type": "application/json" } };
}

const DIALECTS = [
  { path: "/v1/chat/completions", body: { messages: MESSAGES } },
  { path: "/v1/messages", body: { messages: MESSAGES, max_tokens: 1000 } },
  { path: "/v1/responses", body: { input: "Say it." } },
];
const ENDINGS: readonly Ending[] = ["hangs", "resets", "ends without usage"];

/** Reads until the whole text is there, then leaves if the upstream would never end. */
async function readIt(response: Response, leaving: AbortController, ending: Ending): Promise<void> {
  let seen = "";
  const lastWord = JSON.stringify(WORDS.at(-1)).slice(1, -1);
  try {
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
      seen += Buffer.from(chunk).toString();
      if (ending === "hangs" && seen.includes(lastWord)) leaving.abort();
    }
  } catch (error) {
    if (ending !== "hangs") throw error;
  }
  expect(seen).toContain(lastWord);
}

describe.each(DIALECTS)("$path", ({ path, body }) => {
  test.each(ENDINGS)("a stream whose upstream %s before its usage is billed for the tokens delivered, once", async (ending) => {
    const { edge, control, auth } = await open(ending);
    const leaving = new AbortController();
    const request = { method: "POST", headers: auth, body: JSON.stringify({ model: "m", stream: true, ...body }), signal: leaving.signal };
    await readIt(await fetch(edge.url + path, request), leaving, ending);
    for (let attempt = 0; attempt < 500 && control.settled.size === 0; attempt++) await delay(10);
    expect(control.settled.size).toBe(1);
    const [row] = control.settled.values();
    const status = { hangs: "cancelled", resets: "error", "ends without usage": "success" }[ending];
    expect(row).toMatchObject({ status, usage: { source: "estimated", output: BigInt(countByO200k(TEXT)) } });
    // The request by the recipe of the same vocabulary, too: three tokens around it, one for its role, three for the answer's start.
    expect(row?.usage?.input).toBe(BigInt(3 + 1 + countByO200k("Say it.") + 3));
  });
});

test("a model of an older vocabulary is counted by that one", async () => {
  const { edge, control, auth } = await open("ends without usage", "gpt-4-turbo");
  await (await edge.post("/v1/chat/completions", { model: "m", stream: true, messages: MESSAGES }, auth)).text();
  expect([...control.settled.values()][0]?.usage?.output).toBe(BigInt(countByCl100k(TEXT)));
});

test("a whole answer without usage is counted in the same way", async () => {
  const control = new FakeControl();
  control.deployments.push({ ...deployment({ modelName: "m" }), id: "dep_m", providerKind: "openai", inferenceModelId: "gpt-4o" });
  const choices = [{ index: 0, message: { role: "assistant", content: TEXT }, finish_reason: "stop" }];
  const body = Buffer.from(JSON.stringify({ choices }));
  const edge = await startEdge(control, {
    send: async () => ({
      status: 200,
      headers: { "content-type": "application/json" },
      body: (async function* () {
        yield body;
      })(),
    }),
  });
  closing.push(() => edge.close());
  const { secret } = control.addKey();
  const response = await edge.post("/v1/chat/completions", { model: "m", messages: MESSAGES }, { authorization: `Bearer ${secret}` });
  expect(await response.json()).toMatchObject({ usage: { completion_tokens: countByO200k(TEXT) } });
  expect([...control.settled.values()][0]).toMatchObject({ usage: { source: "estimated", output: BigInt(countByO200k(TEXT)) } });
});
