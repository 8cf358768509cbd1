import { once } from "node:events";
import { createServer, request as httpRequest, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { deployment, FakeControl, startEdge, type TestEdge } from "../testing/edge-fixture.ts";

type Handler = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>;

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

interface Priced {
  readonly unit: string;
  readonly input: bigint;
  readonly output: bigint;
  readonly images?: { prices: Record<string, bigint> };
}

/** An edge with one real upstream for the model `m`, at the given price. */
async function open(price: Priced, handler: Handler, more: { kind?: string; deployments?: number } = {}) {
  const upstream = createServer((request, response) => void handler(request, response));
  await listen(upstream);
  const control = new FakeControl();
  const baseUrl = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/v1`;
  control.deployments = Array.from({ length: more.deployments ?? 1 }, (_, index) => {
    const made = deployment({
      modelName: "m",
      providerKind: more.kind ?? "openai",
      inferenceModelId: "m-x",
      baseUrl,
      apiKey: "up",
      params: "{}",
    });
    return {
      ...made,
      id: `dep_${index}`,
      model: made.model && { ...made.model, pricing: { version: 3, effectiveAt: undefined, ...price } },
    };
  });
  const edge = await startEdge(control);
  closing.push(async () => {
    await edge.close();
    upstream.closeAllConnections();
    upstream.close();
  });
  const auth = { authorization: `Bearer ${control.addKey().secret}` };
  return { edge, control, auth, log: () => [...control.settled.values()].at(-1) };
}

async function listen(server: Server): Promise<void> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
}

const json = (response: ServerResponse, body: unknown) => {
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify(body));
};

async function formOf(request: IncomingMessage): Promise<FormData> {
  const bytes = Buffer.concat(await request.toArray());
  return await new Response(bytes, { headers: { "content-type": request.headers["content-type"] ?? "" } }).formData();
}

function upload(
  edge: TestEdge,
  auth: Record<string, string>,
  fields: readonly (readonly [string, string | Blob])[],
  { path = "/v1/audio/transcriptions", fileName = "a.mp3" } = {},
) {
  const form = new FormData();
  for (const [name, value] of fields) typeof value === "string" ? form.append(name, value) : form.append(name, value, fileName);
  return fetch(edge.url + path, { method: "POST", headers: auth, body: form });
}

const PER_MINUTE: Priced = { unit: "millisecond", input: 100_000_000n, output: 0n };

test("a transcript priced by time: reserved by the size of the file, paid by the provider's seconds, with the whole form sent on", async () => {
  const forms: FormData[] = [];
  const { edge, control, auth, log } = await open(PER_MINUTE, async (request, response) => {
    forms.push(await formOf(request));
    json(response, { text: "hi", usage: { type: "duration", seconds: 2.5 } });
  });
  const file = new Blob([Buffer.alloc(100_000, 1)]);
  const response = await upload(edge, auth, [
    ["file", file],
    ["model", "m"],
    ["timestamp_granularities[]", "word"],
    ["timestamp_granularities[]", "segment"],
    ["include", "logprobs"],
    ["num_retries", "3"],
  ]);
  expect([response.status, await response.json()]).toEqual([200, { text: "hi", usage: { type: "duration", seconds: 2.5 } }]);
  expect([...(forms[0]?.keys() ?? [])].sort()).toEqual([
    "file",
    "include[]",
    "model",
    "timestamp_granularities[]",
    "timestamp_granularities[]",
  ]);
  const received = forms[0]?.get("file") as File;
  expect([forms[0]?.get("model"), received.name, received.size]).toEqual(["m-x", "a.mp3", 100_000]);
  // 100,000 bytes at 16 bits a millisecond are 50 s; 0.0001 USD a second. Before its end is seen, a file may be as long as its form.
  const worstCase = control.reserved[0]?.worstCase ?? 0n;
  expect(worstCase >= 5_000_000n && worstCase < 5_100_000n).toBe(true);
  expect(log()).toMatchObject({ cost: 250_000n, priceVersion: 3, usage: { source: "provider" } });
});

/** Ten seconds of silence, 16 bits and two channels at 48 kHz. */
function silence(): Blob {
  const head = Buffer.alloc(44);
  head.write("RIFF", 0);
  head.write("WAVEfmt ", 8);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(2, 22);
  head.writeUInt32LE(48_000, 24);
  head.writeUInt16LE(16, 34);
  head.write("data", 36);
  return new Blob([head, Buffer.alloc(1_920_000)]);
}

test("a transcript whose provider says nothing of its length is paid by that of the sound, whatever the file's name, and the row says that it is estimated", async () => {
  const { edge, auth, log, control } = await open(PER_MINUTE, async (request, response) => {
    await request.toArray();
    response.end("just text\n");
  });
  for (const name of ["a.wav", "a.mp3", "a.opus", "sound"]) {
    const fields = [
      ["model", "m"],
      ["response_format", "text"],
      ["file", silence()],
    ] as const;
    const response = await upload(edge, auth, fields, { fileName: name });
    expect([response.headers.get("content-type"), await response.text()]).toEqual(["text/plain; charset=utf-8", "just text\n"]);
    expect([name, log()]).toMatchObject([name, { cost: 1_000_000n, usage: { source: "estimated" } }]);
  }
  expect((control.reserved[0]?.worstCase ?? 0n) >= 1_000_000n).toBe(true);
});

test("tokens of sound are a class of their own in the log", async () => {
  const usage = {
    type: "tokens",
    input_tokens: 14,
    input_token_details: { text_tokens: 4, audio_tokens: 10 },
    output_tokens: 3,
    total_tokens: 17,
  };
  const { edge, auth, log } = await open({ unit: "token", input: 1_000_000_000n, output: 2_000_000_000n }, async (request, response) => {
    await request.toArray();
    json(response, { text: "hi", usage });
  });
  await upload(edge, auth, [
    ["model", "m"],
    ["file", new Blob(["abc"])],
  ]);
  expect(log()).toMatchObject({ cost: 20_000n, usage: { input: 4n, audio: 10n, output: 3n, total: 17n, source: "provider" } });
});

test("a form whose fields come first is sent on while its file still comes in", async () => {
  let firstByteAt = 0;
  const { edge, auth } = await open(PER_MINUTE, async (request, response) => {
    for await (const _ of request) firstByteAt ||= performance.now();
    json(response, { text: "hi", duration: 1 });
  });
  const file = Buffer.alloc(1_000_000, 2);
  const boundary = "x-boundary";
  const head = `--${boundary}\r\ncontent-disposition: form-data; name="model"\r\n\r\nm\r\n--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="a.wav"\r\ncontent-type: audio/wav\r\n\r\n`;
  const tail = `\r\n--${boundary}--\r\n`;
  const sending = httpRequest(`${edge.url}/v1/audio/transcriptions`, {
    method: "POST",
    headers: {
      ...auth,
      "content-type": `multipart/form-data; boundary=${boundary}`,
      "content-length": head.length + file.length + tail.length,
    },
  });
  sending.write(head);
  sending.write(file.subarray(0, 500_000));
  for (let waited = 0; firstByteAt === 0 && waited < 500; waited++) await delay(10);
  const lastSentAt = performance.now();
  sending.end(Buffer.concat([file.subarray(500_000), Buffer.from(tail)]));
  const [response] = (await once(sending, "response")) as [IncomingMessage];
  expect(JSON.parse(Buffer.concat(await response.toArray()).toString())).toMatchObject({ text: "hi" });
  expect(firstByteAt > 0 && firstByteAt < lastSentAt).toBe(true);
});

test("an upstream that fails is followed by another, which gets the whole file again", async () => {
  const sizes: number[] = [];
  const { edge, auth, log } = await open(
    PER_MINUTE,
    async (request, response) => {
      sizes.push(((await formOf(request)).get("file") as File).size);
      if (sizes.length === 1) response.writeHead(500).end("{}");
      else json(response, { text: "second", duration: 1 });
    },
    { deployments: 2 },
  );
  const response = await upload(edge, auth, [
    ["model", "m"],
    ["file", new Blob([Buffer.alloc(700_000, 3)])],
  ]);
  expect([response.status, await response.json(), sizes]).toEqual([200, { text: "second", duration: 1 }, [700_000, 700_000]]);
  expect(log()).toMatchObject({ attempts: 2, cost: 100_000n });
});

const PER_CHARACTER: Priced = { unit: "character", input: 15_000_000_000n, output: 0n };

test("speech: the first byte is out before the last one was made; characters are paid, reserved exactly", async () => {
  let release = () => {};
  const { edge, auth, log, control } = await open(PER_CHARACTER, async (request, response) => {
    await request.toArray();
    response.writeHead(200, { "content-type": "application/octet-stream" });
    response.write(Buffer.alloc(1000, 1));
    await new Promise<void>((resolve) => {
      release = resolve;
    });
    response.end(Buffer.alloc(1000, 2));
  });
  const response = await edge.post(
    "/v1/audio/speech",
    { model: "m", input: "héllo 😀", voice: { id: "v" }, response_format: "opus" },
    auth,
  );
  expect([response.status, response.headers.get("content-type")]).toEqual([200, "audio/opus"]);
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  expect((await reader.read()).value?.length).toBe(1000);
  release();
  expect((await reader.read()).value?.length).toBe(1000);
  expect((await reader.read()).done).toBe(true);
  expect([log()?.cost, control.reserved[0]?.worstCase]).toEqual([105_000n, 105_000n]);
  // What was paid for stands in the row, so that it can be priced again.
  expect(log()?.usage?.amounts?.amounts).toContainEqual({ unit: "character", input: expect.any(BigInt), output: 0n });
});

test("speech: a client that leaves stops the upstream and pays; an upstream that breaks off is no shorter sound", async () => {
  let isAborted = false;
  const { edge, auth, log } = await open(PER_CHARACTER, async (request, response) => {
    const { input } = JSON.parse(Buffer.concat(await request.toArray()).toString()) as { input: string };
    response.once("close", () => {
      isAborted = !response.writableFinished;
    });
    response.writeHead(200, { "content-type": "audio/mpeg" });
    response.write(Buffer.alloc(1000, 1));
    if (input === "break") setTimeout(() => response.destroy(), 20);
  });
  const leaving = new AbortController();
  const response = await fetch(`${edge.url}/v1/audio/speech`, {
    method: "POST",
    headers: { ...auth, "content-type": "application/json" },
    body: JSON.stringify({ model: "m", input: "hello", voice: "a" }),
    signal: leaving.signal,
  });
  await (response.body as ReadableStream<Uint8Array>).getReader().read();
  leaving.abort();
  for (let waited = 0; !(isAborted && log()) && waited < 300; waited++) await delay(10);
  expect([isAborted, log()?.status, log()?.cost]).toEqual([true, "cancelled", 75_000n]);
  const broken = await edge.post("/v1/audio/speech", { model: "m", input: "break", voice: "a" }, auth);
  await expect(broken.arrayBuffer()).rejects.toThrow();
  expect(log()).toMatchObject({ status: "error" });
});

test("speech: too much text, none, and a model without it are refused by name", async () => {
  const { edge, auth } = await open(PER_CHARACTER, (_request, response) => void response.end(), { kind: "anthropic" });
  const refusal = async (body: object) => {
    const response = await edge.post("/v1/audio/speech", { model: "m", voice: "a", ...body }, auth);
    return [response.status, ((await response.json()) as { error: { param: string } }).error.param];
  };
  expect(await refusal({ input: "x".repeat(4097) })).toEqual([400, "input"]);
  expect(await refusal({ input: "" })).toEqual([400, "input"]);
  expect(await refusal({})).toEqual([422, "input"]);
  expect(await refusal({ input: "x", response_format: "ogg" })).toEqual([422, "response_format"]);
  expect(await refusal({ input: "x" })).toEqual([400, "model"]);
});

test("images priced by piece are paid by how many came; a chat model's price by token does not fit a search and the like", async () => {
  const { edge, auth, log, control } = await open({ unit: "image", input: 0n, output: 40_000_000_000_000n }, async (request, response) => {
    const body = JSON.parse(Buffer.concat(await request.toArray()).toString()) as { n: number; response_format?: string };
    json(response, { created: 5, data: Array.from({ length: body.n - 1 }, () => ({ url: "http://x/y.png" })) });
  });
  const response = await edge.post("/v1/images/generations", { model: "m", prompt: "a dot", n: 3, response_format: "url" }, auth);
  expect(await response.json()).toEqual({ created: 5, data: [{ url: "http://x/y.png" }, { url: "http://x/y.png" }] });
  expect([control.reserved[0]?.worstCase, log()?.cost, log()?.usage?.source]).toEqual([120_000_000n, 80_000_000n, "provider"]);
  const chat = await edge.post("/v1/chat/completions", { model: "m", messages: [{ role: "user", content: "hi" }] }, auth);
  expect([chat.status, ((await chat.json()) as { error: { message: string } }).error.message]).toEqual([
    400,
    expect.stringContaining("price"),
  ]);
});

const cents = (count: number) => BigInt(count) * 10_000_000_000_000n;
const BY_SIZE: Priced = {
  unit: "image",
  input: 0n,
  output: cents(4),
  images: {
    prices: {
      "standard/1024x1024": cents(4),
      "standard/1024x1792": cents(8),
      "hd/1024x1024": cents(8),
      "hd/1024x1792": cents(12),
      "low/1024x1024": cents(1),
    },
  },
};

test.each([
  [{}, {}, 4, 4, "standard/1024x1024"],
  [{ size: "1024x1792", quality: "hd" }, {}, 12, 12, "hd/1024x1792"],
  [{ size: "1024x1792" }, {}, 8, 8, "standard/1024x1792"],
  [{ quality: "hd" }, {}, 8, 8, "hd/1024x1024"],
  // The provider chooses: the dearest is reserved, what the answer says is billed.
  [{ size: "auto", quality: "auto" }, { size: "1024x1024", quality: "low" }, 12, 1, "low/1024x1024"],
  [{ size: "1024x1024", quality: "auto" }, { quality: "hd" }, 8, 8, "hd/1024x1024"],
  [{ size: "auto" }, {}, 12, 4, "standard/1024x1024"],
  // No price of its own: the base price.
  [{ size: "512x512" }, {}, 4, 4, "512x512"],
])("images %j, answered %j, reserve %i cents each and cost %i as %s", async (asked, said, reserved, cost, image) => {
  const { edge, auth, log, control } = await open(BY_SIZE, async (request, response) => {
    await request.toArray();
    json(response, { created: 5, data: [{ url: "http://x/1.png" }, { url: "http://x/2.png" }], ...said });
  });
  const nano = (each: number, count: number) => BigInt(each * count) * 10_000_000n;
  const made = await edge.post("/v1/images/generations", { model: "m", prompt: "a dot", n: 3, ...asked }, auth);
  expect([made.status, control.reserved[0]?.worstCase, log()?.cost]).toEqual([200, nano(reserved, 3), nano(cost, 2)]);
  expect(log()?.usage).toMatchObject({ image, amounts: { amounts: [{ unit: "image", input: 0n, output: 2n }] } });
  const form = [["model", "m"], ["prompt", "a dot"], ["n", "2"], ["image", new Blob(["png"])], ...Object.entries(asked)] as const;
  expect((await upload(edge, auth, form, { path: "/v1/images/edits" })).status).toBe(200);
  expect([control.reserved[1]?.worstCase, log()?.cost, log()?.usage?.image]).toEqual([nano(reserved, 2), nano(cost, 2), image]);
});

test("streamed images are billed by the size and quality of their events", async () => {
  const completed = { type: "image_generation.completed", b64_json: "AAAA", size: "1024x1792", quality: "hd" };
  const { edge, auth, log } = await open(BY_SIZE, async (request, response) => {
    await request.toArray();
    response.setHeader("content-type", "text/event-stream");
    response.end([completed, completed].map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""));
  });
  await (await edge.post("/v1/images/generations", { model: "m", prompt: "a dot", n: 2, stream: true, size: "auto" }, auth)).text();
  expect(log()).toMatchObject({ cost: 240_000_000n, usage: { image: "hd/1024x1792" } });
});

test("streamed images go out event by event, large ones too, and the usage of all of them is paid", async () => {
  const picture = "A".repeat(2_000_000);
  const completed = (n: number) => ({
    type: "image_generation.completed",
    b64_json: picture,
    usage: { input_tokens: n, output_tokens: 10 },
  });
  const events = [{ type: "image_generation.partial_image", b64_json: picture, partial_image_index: 0 }, completed(2), completed(3)];
  const { edge, auth, log } = await open({ unit: "token", input: 1_000_000_000n, output: 2_000_000_000n }, async (request, response) => {
    await request.toArray();
    response.setHeader("content-type", "text/event-stream");
    response.end(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(""));
  });
  const response = await edge.post("/v1/images/generations", { model: "m", prompt: "a dot", n: 2, stream: true, partial_images: 1 }, auth);
  const text = await response.text();
  expect(text.match(/^event: .*$/gm)).toEqual(events.map(({ type }) => `event: ${type}`));
  expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
  expect(log()).toMatchObject({ cost: 45_000n, usage: { input: 5n, output: 20n } });
});

test("a ranking goes to Cohere as texts and comes back sorted, with the documents that were sent, paid by search", async () => {
  let sent: unknown;
  const { edge, auth, log } = await open(
    { unit: "search", input: 2_000_000_000_000n, output: 0n },
    async (request, response) => {
      sent = [request.url, JSON.parse(Buffer.concat(await request.toArray()).toString())];
      const results = [
        { index: 1, relevance_score: 0.2 },
        { index: 0, relevance_score: 0.9 },
      ];
      json(response, { id: "r", results, meta: { billed_units: { search_units: 2 } } });
    },
    { kind: "cohere" },
  );
  const documents = [{ title: "T", text: "one", page: 2 }, "two"];
  const body = { model: "m", query: "q", documents, rank_fields: ["title", "page"], return_documents: true, top_n: 2 };
  const response = await edge.post("/v2/rerank", body, auth);
  expect(sent).toEqual([
    "/v1/v2/rerank".replace("/v1", ""),
    { model: "m-x", query: "q", documents: ["title: T\npage: 2", "two"], top_n: 2 },
  ]);
  expect(await response.json()).toMatchObject({
    id: "r",
    results: [
      { index: 0, relevance_score: 0.9, document: { title: "T" } },
      { index: 1, document: { text: "two" } },
    ],
    meta: { billed_units: { search_units: 2 } },
  });
  expect(log()).toMatchObject({ cost: 4_000_000n, usage: { source: "provider" } });
  for (const [wrong, param] of [
    [{ documents: [] }, "documents"],
    [{ query: "" }, "query"],
  ] as const) {
    const refused = await edge.post("/v1/rerank", { ...body, ...wrong }, auth);
    expect([refused.status, ((await refused.json()) as { error: { param: string } }).error.param]).toEqual([400, param]);
  }
});
