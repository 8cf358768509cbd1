import type { Send, UpstreamRequest } from "../../../upstream/providers/provider.ts";
import { deployment, FakeControl, parseStream, startEdge, type TestEdge } from "./edge-fixture.ts";

const edges: TestEdge[] = [];
afterAll(() => Promise.all(edges.map((edge) => edge.close())));

/** An edge in front of one OpenAI-like upstream that answers every request with `answer`, or streams `frames`. */
async function open(script: { answer?: unknown; frames?: string[] }) {
  const control = new FakeControl();
  control.deployments = [
    deployment({
      modelName: "gpt",
      providerKind: "openai",
      inferenceModelId: "gpt-x",
      baseUrl: "http://upstream/v1",
      apiKey: "up",
      params: "{}",
    }),
    deployment({ modelName: "claude", providerKind: "anthropic", inferenceModelId: "claude-x", apiKey: "up", params: "{}" }),
  ];
  const requests: UpstreamRequest[] = [];
  const send: Send = async (request) => {
    requests.push(request);
    const text = script.frames ? script.frames.join("") : JSON.stringify(script.answer);
    return {
      status: 200,
      headers: {},
      body: (async function* () {
        yield Buffer.from(text);
      })(),
    };
  };
  const edge = await startEdge(control, { send });
  edges.push(edge);
  const { secret } = control.addKey();
  const post = (path: string, body: unknown) => edge.post(path, body, { authorization: `Bearer ${secret}` });
  return { control, requests, post, sent: () => JSON.parse(String(requests.at(-1)?.body)) as Record<string, unknown> };
}

const lastLog = (control: FakeControl) => [...control.settled.values()].at(-1);

test("embeddings: every form of input reaches the upstream, numbers and base64 come back as asked, and the tokens are paid", async () => {
  const answer = {
    data: [
      { index: 0, embedding: [0.5, -1] },
      { index: 1, embedding: [2, 3] },
    ],
    usage: { prompt_tokens: 7, total_tokens: 7 },
  };
  const { control, post, sent } = await open({ answer });
  for (const path of ["/embeddings", "/v1/embeddings", "/engines/gpt/embeddings", "/openai/deployments/gpt/embeddings"]) {
    const response = await post(path, { model: "gpt", input: ["a", "b"] });
    expect([response.status, await response.json()]).toEqual([
      200,
      {
        object: "list",
        data: [
          { object: "embedding", index: 0, embedding: [0.5, -1] },
          { object: "embedding", index: 1, embedding: [2, 3] },
        ],
        model: "gpt",
        usage: { prompt_tokens: 7, total_tokens: 7 },
      },
    ]);
  }
  expect(sent()["input"]).toEqual(["a", "b"]);
  expect(lastLog(control)).toMatchObject({
    cost: 7000n,
    usage: { input: 7n, output: 0n, total: 7n, source: "provider" },
    status: "success",
  });
  await post("/v1/embeddings", { model: "gpt", input: [[1, 2], [3]] });
  expect(sent()["input"]).toEqual([[1, 2], [3]]);
  const encoded = (await (await post("/v1/embeddings", { model: "gpt", input: ["a", "b"], encoding_format: "base64" })).json()) as {
    data: { embedding: string }[];
  };
  const bytes = Buffer.from(encoded.data[0]?.embedding ?? "", "base64");
  expect([bytes.readFloatLE(0), bytes.readFloatLE(4)]).toEqual([0.5, -1]);
});

test("embeddings: no input, an empty text and too many inputs are named in the error, and cost nothing", async () => {
  const { control, post, requests } = await open({ answer: {} });
  for (const input of ["", [], [""], [[]], Array.from({ length: 2049 }, () => "a")]) {
    const response = await post("/v1/embeddings", { model: "gpt", input });
    expect([response.status, ((await response.json()) as { error: { param: string } }).error.param]).toEqual([400, "input"]);
  }
  expect((await post("/v1/embeddings", { model: "gpt", input: { $gt: "" } })).status).toBe(422);
  expect((await post("/v1/embeddings", { model: "claude", input: "a" })).status).toBe(400);
  expect((await post("/v1/embeddings", { model: "gpt", input: "a", api_base: "http://evil" })).status).toBe(400);
  expect([requests.length, control.made.length]).toEqual([0, 0]);
});

test("completions: the upstream's own interface, whole and streamed, with the model from path, query or body", async () => {
  const answer = {
    choices: [{ index: 0, text: "yes", finish_reason: "stop", logprobs: null }],
    usage: { prompt_tokens: 2, completion_tokens: 1 },
  };
  const whole = await open({ answer });
  for (const path of [
    "/completions?model=gpt",
    "/v1/completions?model=gpt",
    "/engines/gpt/completions",
    "/openai/deployments/gpt/completions",
  ]) {
    const response = await whole.post(path, { prompt: "is it?" });
    expect([path, response.status, await response.json()]).toMatchObject([
      path,
      200,
      {
        object: "text_completion",
        model: "gpt",
        choices: [{ index: 0, text: "yes", finish_reason: "stop", logprobs: null }],
        usage: { total_tokens: 3 },
      },
    ]);
  }
  expect(whole.sent()).toMatchObject({ model: "gpt-x", prompt: "is it?" });
  const chunk = (fields: object) => `data: ${JSON.stringify({ choices: [{ index: 0, ...fields }] })}\n\n`;
  const frames = [
    chunk({ text: "y" }),
    chunk({ text: "es" }),
    chunk({ text: "", finish_reason: "stop" }),
    'data: {"choices":[],"usage":{"prompt_tokens":2,"completion_tokens":2}}\n\n',
    "data: [DONE]\n\n",
  ];
  const streamed = await open({ frames });
  const response = await streamed.post("/v1/completions", {
    model: "gpt",
    prompt: "is it?",
    stream: true,
    stream_options: { include_usage: true },
  });
  const seen = parseStream(await response.text()) as { choices: { text: string; finish_reason: string | null }[]; usage?: unknown }[];
  expect(seen.flatMap(({ choices }) => choices.map(({ text }) => text)).join("")).toBe("yes");
  expect(seen.at(-2)?.choices[0]?.finish_reason).toBe("stop");
  expect(seen.at(-1)).toMatchObject({ choices: [], usage: { total_tokens: 4, cost_nano: 6000 } });
});

test("completions of a model that can only chat are a chat with one turn; what chat cannot do is refused", async () => {
  const answer = { content: [{ type: "text", text: "yes" }], stop_reason: "end_turn", usage: { input_tokens: 2, output_tokens: 1 } };
  const { post, sent } = await open({ answer });
  const response = await post("/v1/completions", { model: "claude", prompt: "is it?", max_tokens: 5 });
  expect(await response.json()).toMatchObject({ object: "text_completion", choices: [{ text: "yes", finish_reason: "stop" }] });
  expect(sent()).toMatchObject({ max_tokens: 5, messages: [{ role: "user" }] });
  for (const more of [{ prompt: [1, 2] }, { suffix: "x" }, { echo: true }]) {
    expect((await post("/v1/completions", { model: "claude", prompt: "is it?", ...more })).status).toBe(400);
  }
});

test("moderations: the upstream's results come back, and where it has no price it costs nothing", async () => {
  const answer = { id: "modr-1", model: "omni", results: [{ flagged: false, categories: {}, category_scores: {} }] };
  const { control, post, sent } = await open({ answer });
  control.deployments = [];
  for (const path of ["/moderations", "/v1/moderations"]) {
    const response = await post(path, { model: "gpt", input: "hello" });
    expect([response.status, await response.json()]).toMatchObject([200, { id: "modr-1", model: "gpt", results: [{ flagged: false }] }]);
  }
  expect(sent()).toMatchObject({ input: "hello" });
  expect((await post("/v1/moderations", { model: "gpt" })).status).toBe(422);
});

test("an answer with fewer vectors than inputs is an upstream error: those after the missing one would be another input's", async () => {
  const data = [0, 1].map((index) => ({ object: "embedding", index, embedding: [0.5] }));
  const { post } = await open({ answer: { data, usage: { prompt_tokens: 3, total_tokens: 3 } } });
  expect((await post("/v1/embeddings", { model: "gpt", input: ["a", "b"] })).status).toBe(200);
  expect(Math.floor((await post("/v1/embeddings", { model: "gpt", input: ["a", "b", "c"], num_retries: 0 })).status / 100)).toBe(5);
});

test("a moderation without a model is for OpenAI's default one, as its clients ask", async () => {
  const { post, control } = await open({ answer: { id: "modr-1", model: "x", results: [] } });
  const [gpt] = control.deployments;
  if (gpt) control.deployments.push({ ...gpt, id: "dep_moderation", modelName: "omni-moderation-latest" });
  const refused = (await (await post("/v1/moderations", { input: "hi" })).json()) as { error: { message: string } };
  expect(refused.error.message).toContain("omni-moderation-latest");
});
