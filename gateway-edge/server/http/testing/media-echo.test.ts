import { deployment, FakeControl, startEdge, type TestEdge } from "./edge-fixture.ts";

let edge: TestEdge;
let control: FakeControl;
let auth: Record<string, string>;

beforeAll(async () => {
  control = new FakeControl();
  control.deployments = [deployment({ modelName: "echo" })];
  edge = await startEdge(control);
  auth = { authorization: `Bearer ${control.addKey().secret}` };
});
afterAll(() => edge.close());

const lastLog = () => [...control.settled.values()].at(-1);
const lastReserved = () => control.intents.at(-1)?.worstCase ?? 0n;

function form(fields: readonly (readonly [string, string | Blob])[]): FormData {
  const data = new FormData();
  for (const [name, value] of fields) {
    if (typeof value === "string") data.append(name, value);
    else data.append(name, value, "speech.wav");
  }
  return data;
}

const send = (path: string, body: FormData, headers: Record<string, string> = {}) =>
  fetch(edge.url + path, { method: "POST", headers: { ...auth, ...headers }, body });

const sound = (bytes: number) => new Blob([Buffer.alloc(bytes, 7)], { type: "audio/wav" });

afterEach(() => expect((lastLog()?.cost ?? 0n) <= lastReserved()).toBe(true));

test("speech: a valid sound, streamed as it is made, paid by its tokens", async () => {
  const response = await edge.post("/v1/audio/speech", { model: "echo", input: "one two three", voice: "alloy" }, auth);
  const bytes = Buffer.from(await response.arrayBuffer());
  expect([response.status, response.headers.get("content-type")]).toEqual([200, "audio/wav"]);
  expect([bytes.toString("latin1", 0, 4), bytes.readUInt32LE(40)]).toEqual(["RIFF", bytes.length - 44]);
  expect(lastLog()).toMatchObject({ status: "success", endpoint: "/v1/audio/speech", usage: { input: 3n } });
  const events = await edge.post("/audio/speech", { model: "echo", input: "one two", stream_format: "sse" }, auth);
  const text = await events.text();
  expect(text).toContain("event: speech.audio.delta");
  expect(text).toMatch(/speech\.audio\.done".*\n\ndata: \[DONE\]\n\n$/);
  expect(lastLog()).toMatchObject({ usage: { input: 2n, output: 4n, total: 6n, source: "provider" } });
});

test("a transcript says what came in, in every format, whatever the order of the fields", async () => {
  const file = sound(300_000);
  for (const fields of [
    [
      ["model", "echo"],
      ["file", file],
    ],
    [
      ["file", file],
      ["model", "echo"],
    ],
  ] as const) {
    const response = await send("/v1/audio/transcriptions", form(fields));
    expect([response.status, await response.json()]).toMatchObject([200, { text: "speech.wav has 300000 bytes." }]);
    expect(lastLog()).toMatchObject({ usage: { audio: 293n, source: "provider" }, endpoint: "/v1/audio/transcriptions" });
  }
  for (const [format, start] of [
    ["text", "speech.wav has"],
    ["srt", "1\n"],
    ["vtt", "WEBVTT"],
  ] as const) {
    const late = form([
      ["model", "echo"],
      ["file", file],
      ["response_format", format],
    ]);
    const response = await send("/openai/deployments/echo/audio/transcriptions", late);
    expect([response.headers.get("content-type"), (await response.text()).startsWith(start)]).toEqual(["text/plain; charset=utf-8", true]);
  }
  const streamed = await send(
    "/v1/audio/transcriptions",
    form([
      ["model", "echo"],
      ["file", file],
      ["stream", "true"],
    ]),
  );
  expect(streamed.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
  expect(await streamed.text()).toMatch(/transcript\.text\.delta[\s\S]*transcript\.text\.done[\s\S]*\[DONE\]/);
  const translated = await send(
    "/audio/translations",
    form([
      ["file", file],
      ["model", "echo"],
      ["response_format", "verbose_json"],
    ]),
  );
  expect(await translated.json()).toMatchObject({ task: "translate", text: "speech.wav has 300000 bytes." });
});

test("images come whole and as events, and edits take several images and a mask", async () => {
  const whole = await edge.post("/v1/images/generations", { model: "echo", prompt: "a grey dot", n: 2 }, auth);
  const { data, created } = (await whole.json()) as { data: { b64_json: string }[]; created: number };
  expect([data.length, typeof created, Buffer.from(data[0]?.b64_json ?? "", "base64").toString("latin1", 1, 4)]).toEqual([
    2,
    "number",
    "PNG",
  ]);
  expect(lastLog()).toMatchObject({ usage: { output: 32n, source: "provider" } });
  const streamed = await edge.post("/images/generations", { model: "echo", prompt: "dot", stream: true, partial_images: 2 }, auth);
  const text = await streamed.text();
  expect([
    text.match(/event: image_generation\.partial_image/g)?.length,
    text.match(/event: image_generation\.completed/g)?.length,
  ]).toEqual([2, 1]);
  const edits = form([
    ["image[]", sound(10)],
    ["image[]", sound(20)],
    ["mask", sound(5)],
    ["prompt", "dot"],
    ["model", "echo"],
  ]);
  expect(await (await send("/v1/images/edits", edits)).json()).toMatchObject({ data: [{}] });
});

test("documents are ranked by their words, the best first, with what they are when asked for", async () => {
  const body = { model: "echo", query: "red apple", documents: ["a blue sky", { text: "a red apple" }, "an apple"], top_n: 2 };
  for (const path of ["/rerank", "/v1/rerank", "/v2/rerank"]) {
    const response = await edge.post(path, { ...body, return_documents: true }, auth);
    expect(await response.json()).toMatchObject({
      results: [
        { index: 1, relevance_score: 1, document: { text: "a red apple" } },
        { index: 2, relevance_score: 0.5, document: { text: "an apple" } },
      ],
      meta: { billed_units: { search_units: 1 } },
    });
  }
});

test("an invalid form field is named in the error, with its status", async () => {
  const refusal = async (body: FormData | string, headers: Record<string, string> = {}) => {
    const response = await fetch(`${edge.url}/v1/audio/transcriptions`, { method: "POST", headers: { ...auth, ...headers }, body });
    return [response.status, ((await response.json()) as { error: { param: string | null } }).error.param];
  };
  expect(await refusal("{}", { "content-type": "application/json" })).toEqual([415, null]);
  expect(await refusal("x", { "content-type": "multipart/form-data" })).toEqual([415, null]);
  expect(await refusal("no form", { "content-type": "multipart/form-data; boundary=x" })).toEqual([400, null]);
  expect(await refusal(form([["file", sound(10)]]))).toEqual([422, "model"]);
  expect(await refusal(form([["model", "echo"]]))).toEqual([400, "file"]);
  expect(
    await refusal(
      form([
        ["model", "echo"],
        ["file", "a path"],
      ]),
    ),
  ).toEqual([400, "file"]);
  expect(
    await refusal(
      form([
        ["model", "echo"],
        ["file", sound(0)],
      ]),
    ),
  ).toEqual([400, "file"]);
  expect(
    await refusal(
      form([
        ["model", "echo"],
        ["other", sound(9)],
      ]),
    ),
  ).toEqual([400, "other"]);
  expect(
    await refusal(
      form([
        ["model", "echo"],
        ["file", sound(100)],
        ["temperature", "hot"],
      ]),
    ),
  ).toEqual([422, "temperature"]);
  expect(
    await refusal(
      form([
        ["model", "nothing"],
        ["file", sound(500_000)],
      ]),
    ),
  ).toEqual([404, "model"]);
  expect(
    await refusal(
      form([
        ["model", "echo"],
        ["file", sound(25 * 1024 * 1024 + 1)],
      ]),
    ),
  ).toEqual([413, null]);
});

test("a sound may be asked for under an Idempotency-Key: the same bytes again, paid once", async () => {
  const headers = { ...auth, "idempotency-key": "sound-1" };
  const ask = async () => {
    const response = await edge.post("/v1/audio/speech", { model: "echo", input: "again" }, headers);
    return { replayed: response.headers.get("idempotent-replayed"), bytes: Buffer.from(await response.arrayBuffer()) };
  };
  const first = await ask();
  const settled = control.settled.size;
  const second = await ask();
  expect([first.replayed, second.replayed, second.bytes.equals(first.bytes), control.settled.size]).toEqual([null, "true", true, settled]);
  const upload = async () =>
    await send(
      "/v1/audio/transcriptions",
      form([
        ["file", sound(200_000)],
        ["model", "echo"],
      ]),
      { "idempotency-key": "f" },
    );
  expect((await upload()).status).toBe(200);
  expect((await upload()).headers.get("idempotent-replayed")).toBe("true");
});

test("embeddings: the same text is the same vector of length one, near to texts that share its words; moderations flag what is named", async () => {
  const embed = async (input: unknown, more: object = {}) => {
    const response = await edge.post("/v1/embeddings", { model: "echo", input, ...more }, auth);
    return (await response.json()) as { data: { embedding: number[] }[]; usage: { prompt_tokens: number } };
  };
  const { data, usage } = await embed(["a red cat", "a red dog", "quantum flux"]);
  const [cat = [], dog = [], other = []] = data.map(({ embedding }) => embedding);
  const dot = (left: number[], right: number[]) => left.reduce((sum, value, index) => sum + value * (right[index] ?? 0), 0);
  expect(usage.prompt_tokens).toBe(8);
  expect(lastLog()).toMatchObject({ usage: { input: 8n, output: 0n } });
  expect(dot(cat, cat)).toBeCloseTo(1, 4);
  expect(dot(cat, dog)).toBeGreaterThan(dot(cat, other) + 0.3);
  expect((await embed("a red cat")).data[0]?.embedding).toEqual(cat);
  expect((await embed("x", { dimensions: 256 })).data[0]?.embedding).toHaveLength(256);
  expect((await embed([[1, 2], [3]])).data).toHaveLength(2);
  const response = await edge.post("/moderations", { model: "echo", input: ["a kind word", "so much violence"] }, auth);
  const { results } = (await response.json()) as { results: { flagged: boolean; categories: Record<string, boolean> }[] };
  expect(results.map(({ flagged }) => flagged)).toEqual([false, true]);
  expect(Object.keys(results[1]?.categories ?? {})).toHaveLength(13);
});
