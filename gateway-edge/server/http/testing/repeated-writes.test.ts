import { type AssistantsEdge, type Json, type Scripted, startAssistantsEdge } from "../../../stored/assistants/runs-fixture.ts";

let edge: AssistantsEdge;
/** The kinds of the records that were created. */
const created: string[] = [];
afterEach(() => edge.close());

async function start(...answers: Scripted[]): Promise<void> {
  edge = await startAssistantsEdge(...answers);
  created.length = 0;
  const { records } = edge.control;
  const commit = records.commit.bind(records);
  records.commit = async (owner, writes) => {
    const written = await commit(owner, writes);
    for (const write of writes) if (write.type === "create") created.push(write.kind);
    return written;
  };
}

const ANSWER: Scripted = { text: ["Cold ", "and wet."], usage: [21, 6] };

interface Answered {
  readonly status: number;
  readonly replayed: boolean;
  readonly body: Json;
}

async function answered(response: Response): Promise<Answered> {
  const text = await response.text();
  const replayed = response.headers.get("idempotent-replayed") === "true";
  return { status: response.status, replayed, body: text.startsWith("{") ? JSON.parse(text) : text };
}

function post(path: string, body: object, key?: string): Promise<Answered> {
  const headers = { "content-type": "application/json", ...(key === undefined ? {} : { "idempotency-key": key }) };
  return ask(path, { headers, body: JSON.stringify(body) });
}

async function ask(path: string, { headers, body }: { headers?: Record<string, string>; body: string | FormData }): Promise<Answered> {
  return answered(await fetch(edge.url + path, { method: "POST", headers: { authorization: `Bearer ${edge.secret}`, ...headers }, body }));
}

function upload(text: string, { purpose = "batch", key }: { purpose?: string; key?: string } = {}): Promise<Answered> {
  const form = new FormData();
  form.append("purpose", purpose);
  form.append("file", new Blob([text]), "input.jsonl");
  return ask("/v1/files", { body: form, ...(key === undefined ? {} : { headers: { "idempotency-key": key } }) });
}

const LINE = JSON.stringify({ custom_id: "a", method: "POST", url: "/v1/chat/completions", body: { model: "echo", messages: [] } });
const countOf = (kind: string) => created.filter((name) => name === kind).length;
const namesOf = (stream: string) => [...stream.matchAll(/^event: (.*)$/gm)].map(([, name]) => name);

/** What the creating operations need, made without a key. */
async function begun(...answers: Scripted[]) {
  await start(...answers, ANSWER);
  const file = (await upload(LINE)).body.id as string;
  const assistant = (await post("/v1/assistants", { model: "scripted" })).body.id as string;
  const thread = (await post("/v1/threads", { messages: [{ role: "user", content: "How is Oslo?" }] })).body.id as string;
  const conversation = (await post("/v1/conversations", {})).body.id as string;
  const prompt = (await post("/v1/prompts", { template: { instructions: "Hello" } })).body.id as string;
  const store = (await post("/v1/vector_stores", { embedding_model: "echo" })).body.id as string;
  return { file, assistant, thread, conversation, prompt, store };
}

type Begun = Awaited<ReturnType<typeof begun>>;

const CREATING: readonly [name: string, kind: string, path: (made: Begun) => string, body: (made: Begun) => object][] = [
  [
    "a batch",
    "batch",
    () => "/v1/batches",
    ({ file }) => ({ input_file_id: file, endpoint: "/v1/chat/completions", completion_window: "24h" }),
  ],
  ["an assistant", "assistant", () => "/v1/assistants", () => ({ model: "scripted" })],
  ["a thread", "thread", () => "/v1/threads", () => ({ messages: [{ role: "user", content: "Hi" }] })],
  ["a message", "message", ({ thread }) => `/v1/threads/${thread}/messages`, () => ({ role: "user", content: "And Rome?" })],
  ["a run", "run", ({ thread }) => `/v1/threads/${thread}/runs`, ({ assistant }) => ({ assistant_id: assistant })],
  ["a thread and a run", "run", () => "/v1/threads/runs", ({ assistant }) => ({ assistant_id: assistant })],
  ["a conversation", "conversation", () => "/v1/conversations", () => ({})],
  [
    "conversation items",
    "conversation_item",
    ({ conversation }) => `/v1/conversations/${conversation}/items`,
    () => ({ items: [{ type: "message", role: "user", content: "Hi" }] }),
  ],
  ["a vector store", "vector_store", () => "/v1/vector_stores", () => ({ embedding_model: "echo" })],
  ["a vector store file", "vector_store_file", ({ store }) => `/v1/vector_stores/${store}/files`, ({ file }) => ({ file_id: file })],
  [
    "a vector store file batch",
    "vector_store_batch",
    ({ store }) => `/v1/vector_stores/${store}/file_batches`,
    ({ file }) => ({ file_ids: [file] }),
  ],
  ["a prompt", "prompt", () => "/v1/prompts", () => ({ template: { instructions: "Hello" } })],
  [
    "a prompt version",
    "prompt_version",
    ({ prompt }) => `/v1/prompts/${prompt}/versions`,
    () => ({ template: { instructions: "Hello again" } }),
  ],
];

test.each(CREATING)("a request for %s that is repeated under its Idempotency-Key creates nothing more", async (_name, kind, path, body) => {
  const made = await begun();
  const before = countOf(kind);
  const first = await post(path(made), body(made), "once");
  expect(first).toMatchObject({ status: 200, replayed: false });
  expect(countOf(kind) - before).toBe(1);
  const again = await post(path(made), body(made), "once");
  // The operation's other path.
  const other = await post(path(made).replace("/v1", ""), body(made), "once");
  expect([again, other]).toEqual([
    { ...first, replayed: true },
    { ...first, replayed: true },
  ]);
  expect(countOf(kind) - before).toBe(1);
  const conflict = await post(path(made), { ...body(made), metadata: { other: "body" } }, "once");
  expect([conflict.status, conflict.body.error.code]).toEqual([409, "idempotency_conflict"]);
  expect((await post("/v1/threads", { metadata: {} }, "once")).status).toBe(409);
});

test("a repeated upload is the same file; another content, name or purpose under the key is a conflict", async () => {
  await start();
  const first = await upload(LINE, { key: "upload" });
  expect(first.status).toBe(200);
  expect(await upload(LINE, { key: "upload" })).toEqual({ ...first, replayed: true });
  const refused = [await upload(`${LINE}\n`, { key: "upload" }), await upload(LINE, { key: "upload", purpose: "user_data" })];
  expect(refused.map(({ status }) => status)).toEqual([409, 409]);
  expect(countOf("file")).toBe(1);
});

test("of two requests at the same time under one key, one creates and the other is a conflict", async () => {
  const { file } = await begun();
  const body = { input_file_id: file, endpoint: "/v1/chat/completions", completion_window: "24h" };
  const { records } = edge.control;
  const [commit, other] = [records.commit, Promise.withResolvers<void>()];
  // The first one is written only when the other has its answer.
  records.commit = (...writes) => other.promise.then(() => commit(...writes));
  const ask = () => post("/v1/batches", body, "both").finally(other.resolve);
  const both = await Promise.all([ask(), ask()]);
  expect(both.map(({ status }) => status).sort()).toEqual([200, 409]);
  expect(countOf("batch")).toBe(1);
});

test("a refused request frees its key", async () => {
  const { file } = await begun();
  const body = { endpoint: "/v1/chat/completions", completion_window: "24h" };
  expect((await post("/v1/batches", { ...body, input_file_id: "file-none" }, "again")).status).toBe(404);
  expect((await post("/v1/batches", { ...body, input_file_id: file }, "again")).status).toBe(200);
});

test("a streamed run that is repeated under its key streams the same run, which calls its model once", async () => {
  const { assistant, thread } = await begun();
  const body = { assistant_id: assistant, stream: true };
  const first = await post(`/v1/threads/${thread}/runs`, body, "streamed");
  const again = await post(`/v1/threads/${thread}/runs`, body, "streamed");
  expect(again).toMatchObject({ status: 200, replayed: true });
  const once = (names: (string | undefined)[]) => names.filter((name, place) => name !== names[place - 1]);
  const events = once(namesOf(first.body)).filter((name) => name !== "thread.run.in_progress");
  expect(once(namesOf(again.body))).toEqual(events);
  expect(events.slice(-2)).toEqual(["thread.run.completed", "done"]);
  for (const event of ["thread.message.completed", "thread.run.step.completed", "thread.run.completed"]) {
    const frameOf = (stream: string) => stream.split("\n\n").find((frame) => frame.startsWith(`event: ${event}\n`));
    expect(frameOf(again.body)).toBe(frameOf(first.body));
  }
  expect(again.body).toContain('"delta":{"content":[{"index":0,"type":"text","text":{"value":"Cold and wet."');
  expect([countOf("run"), edge.upstream.requests.length]).toEqual([1, 1]);
});

test("a streamed thread and run that is repeated begins with the thread that was created", async () => {
  const { assistant } = await begun();
  const body = { assistant_id: assistant, stream: true };
  const first = await post("/v1/threads/runs", body, "both");
  const again = await post("/v1/threads/runs", body, "both");
  const threadOf = (stream: string) => /thread\.created\ndata: .*?"id":"(thread_\w+)"/.exec(stream)?.[1];
  expect(threadOf(again.body)).toBe(threadOf(first.body));
  expect([countOf("run"), namesOf(again.body).at(-1)]).toEqual([1, "done"]);
});

test("tool outputs that are submitted again under their key are not a wrong state", async () => {
  const call = { id: "call_1", name: "get_weather", arguments: "{}" };
  const { thread } = await begun({ calls: [call] });
  const tools = [{ type: "function", function: { name: "get_weather", parameters: { type: "object" } } }];
  const assistant = (await post("/v1/assistants", { model: "scripted", tools })).body.id;
  const run = (await post(`/v1/threads/${thread}/runs`, { assistant_id: assistant })).body;
  expect((await edge.settled(thread, run.id)).status).toBe("requires_action");
  const path = `/v1/threads/${thread}/runs/${run.id}/submit_tool_outputs`;
  const body = { tool_outputs: [{ tool_call_id: "call_1", output: "7" }], stream: true };
  await post(path, body, "outputs");
  const again = await post(path, body, "outputs");
  expect([again.status, namesOf(again.body).slice(-2)]).toEqual([200, ["thread.run.completed", "done"]]);
  expect(edge.upstream.requests.length).toBe(2);
});
