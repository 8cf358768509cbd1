import { setTimeout as delay } from "node:timers/promises";
import OpenAI from "openai";
import type { ResponseStreamEvent } from "openai/resources/responses/responses";
import type { Send } from "../../../upstream/providers/provider.ts";
import { deployment, FakeControl, startEdge, type TestEdge } from "../testing/edge-fixture.ts";
import { jsonCaller } from "../testing/json-caller-fixture.ts";

const edges: TestEdge[] = [];
afterEach(() => Promise.all(edges.splice(0).map((edge) => edge.close())));

const upstream = { apiKey: "up", params: "{}", inferenceModelId: "gpt-4o", providerKind: "openai" };
const chunk = (fields: object) => `data: ${JSON.stringify({ choices: [], ...fields })}\n\n`;
const said = (content: string) => chunk({ choices: [{ index: 0, delta: { content }, finish_reason: null }] });
const USAGE = { prompt_tokens: 5, completion_tokens: 2 };
const END = [chunk({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }), chunk({ usage: USAGE }), "data: [DONE]\n\n"];
const event = (fields: object) => `data: ${JSON.stringify(fields)}\n\n`;
const MESSAGE = { id: "msg_up", type: "message", role: "assistant", content: [{ type: "output_text", text: "Good day", annotations: [] }] };
const NATIVE = { id: "resp_up", object: "response", status: "completed", model: "gpt-4o", output: [MESSAGE] };
const delta = (text: string, number: number) =>
  event({
    ...{ type: "response.output_text.delta", item_id: "msg_up", output_index: 0, content_index: 0, delta: text, sequence_number: number },
  });

/** What the upstream streams before and after it waits for `release`. */
const FRAMES: Record<string, readonly [before: string, after: string]> = {
  gpt: [said("Good "), [said("day"), ...END].join("")],
  native: [
    event({ type: "response.created", response: { ...NATIVE, status: "in_progress", output: [] }, sequence_number: 0 }) + delta("Good ", 1),
    delta("day", 2) +
      event({ type: "response.completed", response: { ...NATIVE, usage: { input_tokens: 5, output_tokens: 2 } }, sequence_number: 3 }),
  ],
  broken: [said("Good "), said("d")],
  lines: [said("Good\u2028"), [said("\u2029day"), ...END].join("")],
};

async function open(control = new FakeControl()) {
  const gate = Promise.withResolvers<void>();
  const aborted: string[] = [];
  const send: Send = async (request, signal) => {
    const { model, stream } = JSON.parse(String(request.body)) as { model: string; stream?: boolean };
    signal.addEventListener("abort", () => aborted.push(model), { once: true });
    const left = new Promise<never>((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));
    left.catch(() => undefined);
    const [before = "", after = ""] = FRAMES[model] ?? [];
    const whole = JSON.stringify({
      choices: [{ index: 0, message: { role: "assistant", content: "Again" }, finish_reason: "stop" }],
      usage: USAGE,
    });
    const body = (async function* () {
      if (stream !== true) yield Buffer.from(whole);
      if (stream !== true) return;
      yield Buffer.from(before);
      await Promise.race([gate.promise, left]);
      yield Buffer.from(after);
    })();
    return { status: 200, headers: { "content-type": stream ? "text/event-stream" : "application/json" }, body };
  };
  control.deployments = ["gpt", "broken", "native", "lines"].map((name) =>
    deployment({
      ...{ modelName: name, ...upstream, inferenceModelId: name },
      baseUrl: name === "native" ? "https://api.openai.com/v1" : "http://upstream/v1",
    }),
  );
  const edge = await startEdge(control, { send });
  edges.push(edge);
  const { secret } = control.addKey();
  const client = new OpenAI({ apiKey: secret, baseURL: `${edge.url}/v1`, maxRetries: 0 });
  return { control, edge, client, call: jsonCaller(edge.url, secret), release: gate.resolve, aborted };
}

type Events = AsyncIterable<ResponseStreamEvent>;
async function allOf(stream: Events): Promise<ResponseStreamEvent[]> {
  return await Array.fromAsync(stream);
}
/** The upstream has half a second for its report. */
async function untilAborted(aborted: readonly string[], model: string): Promise<void> {
  for (let attempt = 0; attempt < 100 && aborted.length === 0; attempt++) await delay(10);
  expect(aborted).toEqual([model]);
}

/** Reads up to the first delta, and then disconnects. */
async function untilText(stream: Events): Promise<ResponseStreamEvent[]> {
  const events: ResponseStreamEvent[] = [];
  for await (const each of stream) {
    events.push(each);
    if (each.type === "response.output_text.delta") break;
  }
  return events;
}
const idOf = ([first]: readonly ResponseStreamEvent[]) => (first?.type === "response.created" ? first.response.id : "");
const textOf = (events: readonly ResponseStreamEvent[]) =>
  events.map((each) => (each.type === "response.output_text.delta" ? each.delta : "")).join("");
const numbersOf = (events: readonly ResponseStreamEvent[]) => events.map(({ sequence_number }) => sequence_number);
const create = (client: OpenAI, model: string) => client.responses.create({ model, input: "Hello", background: true, stream: true });

test.each(["gpt", "native"])("a background stream goes on without its client, and is resumed after any event (%s)", async (model) => {
  const { client, control, release, aborted } = await open();
  const seen = await untilText(await create(client, model));
  const id = idOf(seen);
  expect(seen.map(({ type }) => type).slice(0, 2)).toEqual(["response.created", "response.queued"]);
  expect((await client.responses.retrieve(id)).status).toBe("in_progress");
  const after = seen.at(-1)?.sequence_number ?? -1;
  const resumed = allOf(await client.responses.retrieve(id, { stream: true, starting_after: after }));
  release();
  const events = [...seen, ...(await resumed)];
  expect([textOf(events), numbersOf(events)]).toEqual(["Good day", events.map((_, index) => index)]);
  expect(events.at(-1)).toMatchObject({ type: "response.completed", response: { id, status: "completed", background: true } });
  expect(events.at(-1)).toMatchObject({ response: { usage: { input_tokens: 5, output_tokens: 2, cost_nano: expect.any(Number) } } });
  expect(aborted).toEqual([]);
  expect((await client.responses.retrieve(id)).output_text).toBe("Good day");
  // An ended response is streamed again from any event, and after its last event there is nothing.
  expect(await allOf(await client.responses.retrieve(id, { stream: true }))).toEqual(events);
  expect(await allOf(await client.responses.retrieve(id, { stream: true, starting_after: events.length - 1 }))).toEqual([]);
  const rows = [...control.settled.values()].filter(({ onceFor }) => onceFor === `${id}/0`);
  expect(rows.map(({ status }) => status)).toEqual(["success"]);
  await client.responses.delete(id);
  expect((await control.records.list("team_1", "response_events", { parentId: id, order: "asc", limit: 1 })).records).toEqual([]);
});

test("a stream whose edge stopped is ended by another edge with the whole response, under the next numbers", async () => {
  const first = await open();
  const asked = { model: "gpt", input: "Hello", background: true, stream: true, stream_options: { include_obfuscation: false } } as const;
  const seen = await untilText(await first.client.responses.create(asked));
  await edges.splice(edges.indexOf(first.edge), 1)[0]?.close();
  const second = await open(first.control);
  const after = seen.at(-1)?.sequence_number ?? -1;
  const rest = await allOf(await second.client.responses.retrieve(idOf(seen), { stream: true, starting_after: after }));
  expect(rest.at(-1)).toMatchObject({ type: "response.completed", response: { output: [{ content: [{ text: "Again" }] }] } });
  expect(numbersOf(rest)).toEqual(rest.map((_, index) => after + 1 + index));
  // Both attempts are reported for the same work. The control plane charges what the dearer one cost, and the last event shows that.
  const rows = [...first.control.settled.values()].filter(({ onceFor }) => onceFor === `${idOf(seen)}/0`);
  expect(rows.map(({ status }) => status)).toEqual(["cancelled", "success"]);
  const [cut = 0n, whole = 0n] = rows.map(({ cost }) => cost);
  expect([cut > 0n, whole > 0n]).toEqual([true, true]);
  expect(rest.at(-1)).toMatchObject({ response: { usage: { cost_nano: Number(whole) } } });
});

test("text and instructions with line separators of Unicode are streamed as they are", async () => {
  const { client, release } = await open();
  release();
  const asked = { model: "lines", input: "Hello", instructions: "Be\u2028kind\u2029.", background: true, stream: true } as const;
  const events = await allOf(await client.responses.create(asked));
  expect([textOf(events), events.at(-1)?.type]).toEqual(["Good\u2028\u2029day", "response.completed"]);
});

test("a response that is deleted while it is streamed ends its stream and its call, and leaves no events", async () => {
  const { client, control, aborted } = await open();
  const seen: ResponseStreamEvent[] = [];
  for await (const each of await create(client, "gpt")) {
    seen.push(each);
    if (each.type === "response.output_text.delta") await client.responses.delete(idOf(seen));
  }
  expect(seen.at(-1)?.type).toBe("response.output_text.delta");
  await untilAborted(aborted, "gpt");
  expect((await control.records.list("team_1", "response_events", { parentId: idOf(seen), order: "asc", limit: 1 })).records).toEqual([]);
});

test("a background stream that breaks off fails with what was said; one that is canceled ends", async () => {
  const { client, release, aborted } = await open();
  const canceled = await create(client, "gpt");
  const seen: ResponseStreamEvent[] = [];
  for await (const each of canceled) {
    seen.push(each);
    if (each.type === "response.output_text.delta") await client.responses.cancel(idOf(seen));
  }
  expect([(await client.responses.retrieve(idOf(seen))).status, seen.at(-1)?.type]).toEqual(["cancelled", "response.output_text.delta"]);
  await untilAborted(aborted, "gpt");
  const broken = create(client, "broken");
  release();
  const events = await allOf(await broken);
  expect([textOf(events), events.at(-1)]).toMatchObject(["Good d", { type: "response.failed", response: { status: "failed" } }]);
  expect((await client.responses.retrieve(idOf(events))).status).toBe("failed");
});

test("under an Idempotency-Key one response is streamed; other responses and other teams have no events to stream", async () => {
  const { client, call, control, release } = await open();
  release();
  const options = { headers: { "idempotency-key": "once" } };
  const body = { model: "gpt", input: "x", background: true, stream: true } as const;
  const first = await allOf(await client.responses.create(body, options));
  expect(await allOf(await client.responses.create(body, options))).toEqual(first);
  const { json } = await call("POST", "/v1/responses", { model: "gpt", input: "x" });
  const refused = await call("GET", `/v1/responses/${String(json["id"])}?stream=true`);
  expect([refused.status, refused.json["error"]]).toMatchObject([400, { param: "stream" }]);
  const stranger = control.addKey({ teamId: "team_2", organizationId: "org_2" }).secret;
  expect((await call("GET", `/v1/responses/${idOf(first)}?stream=true`, undefined, stranger)).status).toBe(404);
});
