import OpenAI from "openai";
import type { Fields, Send, UpstreamRequest } from "../../../upstream/providers/provider.ts";
import { deployment, FakeControl, startEdge, type TestEdge } from "../testing/edge-fixture.ts";
import { jsonCaller } from "../testing/json-caller-fixture.ts";

const edges: TestEdge[] = [];
afterEach(() => Promise.all(edges.splice(0).map((edge) => edge.close())));

const upstream = { apiKey: "up", params: "{}", inferenceModelId: "gpt-4o", providerKind: "openai" };
const CHAT = JSON.stringify({
  choices: [{ index: 0, message: { role: "assistant", content: "Good day" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 5, completion_tokens: 2 },
});
const NATIVE = JSON.stringify({
  ...{ id: "resp_up", object: "response", status: "completed", model: "gpt-4o", background: false },
  output: [{ id: "msg_up", type: "message", role: "assistant", content: [{ type: "output_text", text: "Good day", annotations: [] }] }],
  usage: { input_tokens: 5, output_tokens: 2, total_tokens: 7 },
});

/** An edge in front of an upstream that answers when `release` is called; at once if `waits` is false. */
async function open({ waits = false, control = new FakeControl(), settings = {} } = {}) {
  const requests: UpstreamRequest[] = [];
  const gate = Promise.withResolvers<void>();
  const arrived = Promise.withResolvers<void>();
  const send: Send = async (request, signal) => {
    requests.push(request);
    arrived.resolve();
    const left = new Promise<never>((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));
    if (waits) await Promise.race([gate.promise, left]);
    const text = request.url.endsWith("/responses") ? NATIVE : CHAT;
    return {
      status: 200,
      headers: {},
      body: (async function* () {
        yield Buffer.from(text);
      })(),
    };
  };
  control.deployments = [
    deployment({ modelName: "gpt", ...upstream, baseUrl: "http://upstream/v1" }),
    deployment({ modelName: "native", ...upstream, baseUrl: "https://api.openai.com/v1" }),
  ];
  const edge = await startEdge(control, { send, ...settings });
  edges.push(edge);
  const { secret } = control.addKey();
  const client = new OpenAI({ apiKey: secret, baseURL: `${edge.url}/v1`, maxRetries: 0 });
  return {
    ...{ control, edge, client, call: jsonCaller(edge.url, secret), requests, release: gate.resolve, arrived: arrived.promise },
    sent: () => JSON.parse(String(requests.at(-1)?.body)) as Fields,
  };
}

async function until<Value>(read: () => Promise<Value>, isDone: (value: Value) => boolean): Promise<Value> {
  for (let turn = 0; turn < 800; turn++) {
    const value = await read();
    if (isDone(value)) return value;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error("the state was not reached");
}
const isOpen = ({ status }: OpenAI.Responses.Response) => status === "queued" || status === "in_progress";

test.each(["gpt", "native"])("a background response is queued, polled to its end, billed once, and continued (%s)", async (model) => {
  const { client, control, release, arrived, sent } = await open({ waits: true });
  const queued = await client.responses.create({ model, input: "Hello", background: true, metadata: { of: "test" } });
  expect(queued).toMatchObject({ status: "queued", background: true, output: [], usage: null, metadata: { of: "test" } });
  await arrived;
  expect(await client.responses.retrieve(queued.id)).toMatchObject({ status: "in_progress", output: [] });
  await expect(client.responses.create({ model, input: "More", previous_response_id: queued.id })).rejects.toMatchObject({ status: 400 });
  release();
  const ended = await until(
    () => client.responses.retrieve(queued.id),
    (response) => !isOpen(response),
  );
  expect(ended).toMatchObject({ id: queued.id, status: "completed", background: true, output_text: "Good day", model });
  expect(ended.usage).toMatchObject({ input_tokens: 5, output_tokens: 2 });
  const rows = [...control.settled.values()].filter(({ onceFor }) => onceFor !== undefined);
  expect([rows.length, rows[0]?.onceFor, rows[0]?.status]).toEqual([1, `${queued.id}/0`, "success"]);
  expect((await client.responses.cancel(queued.id)).status).toBe("completed");
  const next = await client.responses.create({ model, input: "More", previous_response_id: queued.id });
  expect(next.output_text).toBe("Good day");
  expect((sent()["messages"] ?? sent()["input"]) as unknown[]).toHaveLength(3);
});

test("a canceled response stays canceled, and its call is ended", async () => {
  const { client, control, arrived } = await open({ waits: true });
  const { id } = await client.responses.create({ model: "gpt", input: "Hello", background: true });
  await arrived;
  expect(await client.responses.cancel(id)).toMatchObject({ id, status: "cancelled" });
  await until(
    async () => [...control.settled.values()],
    (rows) => rows.length === 1,
  );
  expect([...control.settled.values()][0]).toMatchObject({ status: "cancelled", cost: 0n });
  expect(await client.responses.retrieve(id)).toMatchObject({ status: "cancelled", output: [] });
  expect((await client.responses.cancel(id)).status).toBe("cancelled");
});

test("a response whose edge stopped is made by another, with the same once-for key", async () => {
  const first = await open({ waits: true });
  const { id } = await first.client.responses.create({ model: "gpt", input: "Hello", background: true });
  await first.arrived;
  await edges.splice(edges.indexOf(first.edge), 1)[0]?.close();
  const second = await open({ control: first.control });
  const ended = await until(
    () => second.client.responses.retrieve(id),
    (response) => !isOpen(response),
  );
  expect(ended).toMatchObject({ status: "completed", output_text: "Good day" });
  const rows = [...first.control.settled.values()].filter(({ onceFor }) => onceFor === `${id}/0`);
  expect(rows.map(({ status }) => status)).toEqual(["cancelled", "success"]);
});

test("a background response that cannot be made is refused at once, or fails with the reason", async () => {
  const { call, client, control } = await open();
  const refused = async (body: object, param: string, status = 400) => {
    const answer = await call("POST", "/v1/responses", { model: "gpt", input: "x", background: true, ...body });
    expect([answer.status, answer.json["error"]]).toMatchObject([status, { param }]);
  };
  await refused({ store: false }, "store");
  await refused({ model: "none" }, "model", 404);
  await refused({ tools: [{ type: "code_interpreter" }] }, "tools[0].type");
  const { json } = await call("POST", "/v1/responses", { model: "gpt", input: "x" });
  expect((await call("POST", `/v1/responses/${String(json["id"])}/cancel`)).status).toBe(400);
  const { id } = await client.responses.create({ model: "gpt", input: "x", background: true });
  const stranger = control.addKey({ teamId: "team_2", organizationId: "org_2" }).secret;
  expect((await call("GET", `/v1/responses/${id}`, undefined, stranger)).status).toBe(404);
  expect((await call("POST", `/v1/responses/${id}/cancel`, undefined, stranger)).status).toBe(404);
});

test("under an Idempotency-Key one response is queued", async () => {
  const { client } = await open();
  const options = { headers: { "idempotency-key": "once" } };
  const body = { model: "gpt", input: "x", background: true } as const;
  const [first, second] = [await client.responses.create(body, options), await client.responses.create(body, options)];
  expect(second.id).toBe(first.id);
});

test("a team has at most 100 background responses under way on an edge", async () => {
  const { client, call, control, arrived, release } = await open({ waits: true });
  const body = { model: "gpt", input: "x", background: true } as const;
  const queued = await Promise.all(Array.from({ length: 100 }, () => client.responses.create(body)));
  await arrived;
  const refused = await call("POST", "/v1/responses", body);
  expect([refused.status, refused.json["error"]]).toMatchObject([429, { message: expect.stringContaining("100 background responses") }]);
  const other = control.addKey({ teamId: "team_2", organizationId: "org_1" }).secret;
  expect((await call("POST", "/v1/responses", body, other)).status).toBe(200);
  release();
  for (const { id } of queued) {
    await until(
      () => client.responses.retrieve(id),
      (response) => !isOpen(response),
    );
  }
  const next = await until(
    () => call("POST", "/v1/responses", body),
    ({ status }) => status !== 429,
  );
  expect(next.status).toBe(200);
});
