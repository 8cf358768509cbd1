import { readNamedEvents } from "../../../calls/dialects/dialect-fixture.ts";
import { deployment, FakeControl, startEdge, type TestEdge } from "../testing/edge-fixture.ts";
import { jsonCaller } from "../testing/json-caller-fixture.ts";
import { type ScriptedAnswer, scriptedSend } from "../testing/scripted-send-fixture.ts";

let edge: TestEdge;
afterEach(() => edge?.close());

const PRICES = { input: 1n, output: 1n, fees: { codeSession: 1_000_000n } };
const ids = { apiKey: "up", params: "{}" };

/** Two teams of one organization in front of the same provider account. */
async function open(...answers: readonly ScriptedAnswer[]) {
  const control = new FakeControl();
  control.deployments = [
    deployment({ modelName: "gpt", providerKind: "openai", inferenceModelId: "gpt-4o", ...ids }, PRICES),
    deployment({ modelName: "claude", providerKind: "anthropic", inferenceModelId: "claude-sonnet-4-5", ...ids }, PRICES),
  ];
  const { send, requests } = scriptedSend(answers);
  edge = await startEdge(control, { send });
  const [own, stranger] = [control.addKey().secret, control.addKey({ teamId: "team_2" }).secret];
  return { own: jsonCaller(edge.url, own), stranger: jsonCaller(edge.url, stranger), requests, secret: own, control };
}

const ran = (container_id: string) => ({ type: "code_interpreter_call", id: "ci_1", status: "completed", container_id, code: "1" });
const responseWith = (container: string) => ({
  ...{ id: "resp_up", object: "response", status: "completed", output: [ran(container)] },
  usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
});
const coding = (container: unknown) => ({ model: "gpt", input: "x", tools: [{ type: "code_interpreter", container }] });

test("a container that an answer to the team had can be named again, by tools and input items; an unknown one is a 404 and costs nothing", async () => {
  const { own, stranger, requests } = await open(...Array<string>(3).fill(JSON.stringify(responseWith("cntr_1"))));
  const named: [object, string][] = [
    [coding("cntr_1"), "tools[0]"],
    [{ ...coding({ type: "auto" }), input: [ran("cntr_1"), { role: "user", content: "more" }] }, "input[0]"],
    [{ ...coding(null), tools: [{ type: "shell", environment: { type: "container_reference", container_id: "cntr_1" } }] }, "tools[0]"],
  ];
  for (const [body, param] of named) {
    const { status, json } = await own("POST", "/v1/responses", body);
    expect([status, json["error"]]).toMatchObject([404, { param, message: "There is no container with the id cntr_1." }]);
  }
  expect(requests).toEqual([]);
  expect((await own("POST", "/v1/responses", { ...coding({ type: "auto" }), store: false })).status).toBe(200);
  for (const [body] of named.slice(0, 2)) expect((await own("POST", "/v1/responses", body)).status).toBe(200);
  for (const [body] of named) expect((await stranger("POST", "/v1/responses", body)).status).toBe(404);
  expect(requests).toHaveLength(3);
});

test("items of a conversation name only containers of the team, in either field", async () => {
  const { own, stranger, requests } = await open(...Array<string>(2).fill(JSON.stringify(responseWith("cntr_1"))));
  expect((await own("POST", "/v1/responses", coding({ type: "auto" }))).status).toBe(200);
  const both = { ...ran("cntr_1"), environment: { type: "container_reference", container_id: "cntr_2" } };
  for (const [call, item, id] of [[stranger, ran("cntr_1"), "cntr_1"] as const, [own, both, "cntr_2"] as const]) {
    const conversation = String((await call("POST", "/v1/conversations", {})).json["id"]);
    for (const path of ["/v1/conversations", `/v1/conversations/${conversation}/items`]) {
      const { status, json } = await call("POST", path, { items: [{ role: "user", content: "x" }, item] });
      expect([status, json["error"]]).toMatchObject([404, { param: "items[1]", message: `There is no container with the id ${id}.` }]);
    }
  }
  expect((await own("POST", "/v1/responses", { ...coding("cntr_1"), input: [both] })).status).toBe(404);
  const { json } = await own("POST", "/v1/conversations", { items: [ran("cntr_1")] });
  expect((await own("POST", "/v1/responses", { ...coding({ type: "auto" }), conversation: json["id"] })).status).toBe(200);
  expect(requests).toHaveLength(2);
});

test("stored items from before containers belonged to teams name another team's container in vain, and a forgotten one is the team's", async () => {
  const { own, stranger, requests, control } = await open(...Array<string>(4).fill(JSON.stringify(responseWith("cntr_1"))));
  expect((await own("POST", "/v1/responses", coding({ type: "auto" }))).status).toBe(200);
  /** As an earlier version stored it: any container passed. */
  const stored = async (container: string) => {
    const { json } = await stranger("POST", "/v1/conversations", { items: [{ role: "user", content: "x" }] });
    const id = `ci_${container}`;
    const body = { ...ran(container), id };
    const owner = { organizationId: "org_1", teamId: "team_2", keyId: "key_1" };
    await control.records.commit(owner, [
      { type: "create", kind: "conversation_item", id, parentId: String(json["id"]), body, createdAtMs: Date.now() },
    ]);
    return { conversation: json["id"] };
  };
  const foreign = await stored("cntr_1");
  for (const more of [{}, { background: true }, { tools: [] }]) {
    const { status, json } = await stranger("POST", "/v1/responses", { ...coding({ type: "auto" }), ...foreign, ...more });
    expect([status, json["error"]]).toMatchObject([404, { param: "conversation", message: "There is no container with the id cntr_1." }]);
  }
  const forgotten = await stored("cntr_old");
  expect((await stranger("POST", "/v1/responses", { ...coding({ type: "auto" }), ...forgotten })).status).toBe(200);
  expect((await own("POST", "/v1/responses", coding("cntr_old"))).status).toBe(404);
  expect(requests).toHaveLength(2);
});

test("containers of streamed responses are known when the stream has ended", async () => {
  const events = [
    { type: "response.created", response: { ...responseWith("cntr_s"), status: "in_progress", output: [] } },
    { type: "response.output_item.done", output_index: 0, item: ran("cntr_s") },
    { type: "response.completed", response: responseWith("cntr_s") },
  ];
  const sse = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
  const { own, secret } = await open(sse, JSON.stringify(responseWith("cntr_s")));
  const stream = await fetch(`${edge.url}/v1/responses`, {
    method: "POST",
    headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
    body: JSON.stringify({ ...coding({ type: "auto" }), stream: true, store: false }),
  });
  expect(readNamedEvents(await stream.text()).at(-1)?.["type"]).toBe("response.completed");
  expect((await own("POST", "/v1/responses", coding("cntr_s"))).status).toBe(200);
});

const message = { id: "msg_up", type: "message", role: "assistant", content: [], stop_reason: "end_turn", stop_sequence: null };
const usage = { input_tokens: 1, output_tokens: 1 };
const claude = (more: object) => ({ model: "claude", max_tokens: 10, messages: [{ role: "user", content: "x" }], ...more });

test("the container of a message belongs to the team that got it, whole and streamed", async () => {
  const events = [
    { type: "message_start", message: { ...message, usage } },
    { type: "message_delta", delta: { stop_reason: "end_turn", container: { id: "container_s", expires_at: "x" } }, usage },
    { type: "message_stop" },
  ];
  const sse = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
  const whole = JSON.stringify({ ...message, usage, container: { id: "container_w", expires_at: "x" } });
  const { own, stranger, secret, requests } = await open(whole, sse, whole, whole);
  expect((await own("POST", "/v1/messages", claude({}))).status).toBe(200);
  const stream = await fetch(`${edge.url}/v1/messages`, {
    method: "POST",
    headers: { "x-api-key": secret, "content-type": "application/json" },
    body: JSON.stringify(claude({ stream: true })),
  });
  expect(await stream.text()).toContain("container_s");
  for (const container of ["container_w", { id: "container_s", skills: [] }]) {
    expect((await stranger("POST", "/v1/messages", claude({ container }))).status).toBe(404);
    expect((await own("POST", "/v1/messages", claude({ container }))).status).toBe(200);
  }
  expect(requests).toHaveLength(4);
});

test("an API whose answers name no container takes no id of one, for any model; skills without an id pass", async () => {
  const { own, stranger, requests } = await open(JSON.stringify({ ...message, usage, container: { id: "container_w" } }));
  expect((await own("POST", "/v1/messages", claude({}))).status).toBe(200);
  const bodies = (container: unknown): [string, object][] => [
    ["/v1/chat/completions", claude({ container })],
    ["/v1/chat/completions", claude({ container, stream: true })],
    ["/v1/chat/completions", { ...claude({ container }), model: "gpt" }],
    ["/v1/responses", { model: "claude", input: "x", container }],
    ["/v1/responses", { model: "gpt", input: "x", container }],
    ["/v1/completions", { model: "claude", prompt: "x", container }],
  ];
  for (const container of ["container_w", { id: "container_w" }, { id: "container_w", skills: [] }, ["container_w"]]) {
    for (const [path, body] of bodies(container)) {
      for (const call of [own, stranger]) {
        const { status, json } = await call("POST", path, body);
        expect([path, status, json["error"]]).toEqual([
          path,
          400,
          expect.objectContaining({ code: "unsupported_parameter", param: "container", message: expect.stringContaining("/v1/messages") }),
        ]);
      }
    }
  }
  expect((await stranger("POST", "/v1/messages/count_tokens", claude({ container: "container_w" }))).status).toBe(404);
  expect(requests).toHaveLength(1);
  const skills = [{ type: "anthropic", skill_id: "xlsx", version: "latest" }];
  await own("POST", "/v1/chat/completions", claude({ container: { skills } }));
  expect(JSON.parse(String(requests[1]?.body))).toMatchObject({ container: { skills } });
});
