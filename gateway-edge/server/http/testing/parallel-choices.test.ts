import type { Send, UpstreamRequest } from "../../../upstream/providers/provider.ts";
import { deployment, FakeControl, parseStream, startEdge, type TestEdge } from "./edge-fixture.ts";

const PATH = "/v1/chat/completions";
const edges: TestEdge[] = [];
afterEach(async () => {
  for (const edge of edges.splice(0)) await edge.close();
});

interface Answer {
  readonly choices: readonly { readonly index: number; readonly message?: { readonly content: string }; readonly text?: string }[];
  readonly usage: object;
  readonly error?: { readonly message: string };
}

interface Scripted {
  /** Fails the request with this number. */
  readonly failing?: number;
  /** Each answer waits until this many requests have arrived. */
  readonly together?: number;
  /** The streams end after their first text. */
  readonly breaks?: boolean;
  readonly usage?: boolean;
}

/** Anthropic's API, which has no `n`: answer i says "answer i" and reports 10 input tokens and i + 1 output tokens. */
function anthropicSend({ failing, together = 1, breaks = false, usage = true }: Scripted = {}) {
  const requests: UpstreamRequest[] = [];
  let release: () => void = () => {};
  const complete = new Promise<void>((resolve) => {
    release = resolve;
  });
  const send: Send = async (request) => {
    const index = requests.push(request) - 1;
    if (requests.length >= together) release();
    await complete;
    const body = index === failing ? '{"error":{"type":"invalid_request_error","message":"busy"}}' : bodyOf(request, index);
    return { status: index === failing ? 400 : 200, headers: {}, body: oneByOne(body, breaks) };
  };
  const bodyOf = (request: UpstreamRequest, index: number) => {
    const used = usage ? { input_tokens: 10, output_tokens: index + 1 } : { input_tokens: 0, output_tokens: 0 };
    const text = `answer ${index}`;
    if (!String(request.body).includes('"stream":true')) {
      return JSON.stringify({ type: "message", content: [{ type: "text", text }], stop_reason: "end_turn", usage: used });
    }
    const events = [
      { type: "message_start", message: { content: [], usage: { ...used, output_tokens: 1 } } },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text } },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: used },
      { type: "message_stop" },
    ];
    const sent = breaks ? events.slice(0, 3) : events;
    return sent.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
  };
  return { send, requests };
}

async function* oneByOne(body: string, breaks: boolean): AsyncGenerator<Uint8Array> {
  for (const frame of body.split(/(?<=\n\n)/)) yield Buffer.from(frame);
  if (breaks) throw Object.assign(new Error("reset"), { code: "ECONNRESET" });
}

async function open(scripted: Scripted = {}) {
  const control = new FakeControl();
  control.deployments.push({ ...deployment({ modelName: "m" }), providerKind: "anthropic", inferenceModelId: "claude-sonnet-4-5" });
  const { send, requests } = anthropicSend(scripted);
  const edge = await startEdge(control, { send });
  edges.push(edge);
  const { secret } = control.addKey();
  const ask = (fields: object, path = PATH) =>
    edge.post(path, { model: "m", max_tokens: 50, messages: [{ role: "user", content: "Say it." }], ...fields }, auth(secret));
  return { control, requests, ask };
}

const auth = (secret: string) => ({ authorization: `Bearer ${secret}` });

test.each([{}, { drop_params: true }])(
  "n = 3 of a provider without n is three requests at once, one answer, one bill (%j)",
  async (fields) => {
    const { control, requests, ask } = await open({ together: 3 });
    const answer = (await (await ask({ n: 3, ...fields })).json()) as Answer;
    expect(answer.choices.map(({ index, message }) => [index, message?.content])).toEqual([
      [0, "answer 0"],
      [1, "answer 1"],
      [2, "answer 2"],
    ]);
    expect(answer.usage).toMatchObject({ prompt_tokens: 30, completion_tokens: 6, total_tokens: 36 });
    expect(requests).toHaveLength(3);
    for (const { body } of requests) expect(JSON.parse(String(body))).not.toHaveProperty("n");
    // 30 input tokens at 1000 and 6 output tokens at 2000 nano-USD.
    expect(control.made).toMatchObject([{ cost: 42_000n, usage: { input: 30n, output: 6n, source: "provider" }, attempts: 1 }]);
  },
);

test("a stream has the choices of all requests, and their usage together", async () => {
  const { control, requests, ask } = await open({ together: 3 });
  const chunks = parseStream(await (await ask({ n: 3, stream: true, stream_options: { include_usage: true } })).text());
  const texts = ["", "", ""];
  const finished = new Set<number>();
  for (const { choices } of chunks as { choices: { index: number; delta: { content?: string }; finish_reason: string | null }[] }[]) {
    for (const { index, delta, finish_reason: reason } of choices) {
      texts[index] += delta.content ?? "";
      if (reason === "stop") finished.add(index);
    }
  }
  expect([texts, finished]).toEqual([["answer 0", "answer 1", "answer 2"], new Set([0, 1, 2])]);
  expect(chunks.at(-1)).toMatchObject({ usage: { prompt_tokens: 30, completion_tokens: 6 } });
  expect(requests).toHaveLength(3);
  expect(control.made).toMatchObject([{ cost: 42_000n, usage: { input: 30n, output: 6n, source: "provider" } }]);
});

test("more choices than a call may have requests are refused with the reason, and nothing is sent", async () => {
  const { requests, ask } = await open();
  for (const fields of [{}, { stream: true }, { drop_params: true }]) {
    const response = await ask({ n: 9, ...fields });
    expect([response.status, ((await response.json()) as Answer).error]).toEqual([
      400,
      expect.objectContaining({ code: "unsupported_parameter", param: "n", message: expect.stringContaining("at most 8") }),
    ]);
  }
  expect(requests).toEqual([]);
});

test("input and output of every request are reserved", async () => {
  const { control, ask } = await open();
  await (await ask({})).text();
  await (await ask({ n: 4 })).text();
  const [one, four] = control.intents.map(({ worstCase }) => worstCase);
  expect(four).toBe(4n * (one as bigint));
});

test("a request that fails fails the call, and nothing is billed", async () => {
  for (const stream of [false, true]) {
    const { control, ask } = await open({ failing: 1, together: 2 });
    const response = await ask({ n: 2, stream, num_retries: 0 });
    expect([response.status, ((await response.json()) as Answer).error?.message]).toEqual([400, expect.stringContaining("busy")]);
    expect(control.made).toMatchObject([{ status: "error", cost: 0n }]);
  }
});

test("streams that break off are billed for the input of each and for what was delivered", async () => {
  const single = await open({ breaks: true, usage: false });
  await (await single.ask({ stream: true })).text();
  const double = await open({ breaks: true, usage: false, together: 2 });
  const text = await (await double.ask({ stream: true, n: 2 })).text();
  expect(text).toContain("answer");
  const [one] = single.control.made;
  const [two] = double.control.made;
  expect(two).toMatchObject({ status: "error", usage: { source: "estimated", input: 2n * (one?.usage?.input ?? 0n) } });
});

test("a fixed seed and legacy completions: each choice is a request of its own", async () => {
  const { ask, control, requests } = await open({ together: 2 });
  const response = await ask({ n: 2, prompt: "Say it.", seed: 7, drop_params: true, messages: undefined }, "/v1/completions");
  const { choices } = (await response.json()) as Answer;
  expect(choices.map(({ index, text }) => [index, text])).toEqual([
    [0, "answer 0"],
    [1, "answer 1"],
  ]);
  expect(requests).toHaveLength(2);
  expect(control.made).toMatchObject([{ usage: { input: 20n, output: 3n } }]);
});
