import { parseRequest } from "../../../schemas/request-body.ts";
import { assistantChange } from "../../../schemas/stored/assistants.ts";
import { type AssistantsEdge, startAssistantsEdge } from "../../../stored/assistants/runs-fixture.ts";

let edge: AssistantsEdge;
beforeEach(async () => {
  edge = await startAssistantsEdge({ text: ["Hello ", "there."] });
});
afterEach(() => edge.close());

const assistant = { model: "scripted" };

test("an assistant has every key, is changed field by field, and is gone when deleted", async () => {
  const given = { model: "scripted", name: "Ada", description: "d", instructions: "Be kind.", metadata: { a: "1" }, temperature: 0.5 };
  const { status, body: made } = await edge.call("POST", "/v1/assistants", given);
  expect(status).toBe(200);
  expect(made).toEqual({
    id: expect.stringMatching(/^asst_/),
    object: "assistant",
    created_at: expect.any(Number),
    ...given,
    tools: [],
    tool_resources: null,
    top_p: null,
    response_format: "auto",
    reasoning_effort: null,
  });
  const tools = [{ type: "function", function: { name: "f", parameters: { type: "object" } } }, { type: "file_search" }];
  const { body: changed } = await edge.call("POST", `/assistants/${made.id}`, { name: null, tools });
  expect(changed).toEqual({ ...made, name: null, tools });
  expect((await edge.call("GET", `/v1/assistants/${made.id}`)).body).toEqual(changed);
  expect(await edge.call("DELETE", `/v1/assistants/${made.id}`)).toEqual({
    status: 200,
    body: { id: made.id, object: "assistant.deleted", deleted: true },
  });
  expect((await edge.call("GET", `/v1/assistants/${made.id}`)).status).toBe(404);
});

test("lists go page by page in both directions, and say what is wrong with their query", async () => {
  const ids: string[] = [];
  for (let count = 0; count < 5; count++) ids.push((await edge.call("POST", "/v1/assistants", assistant)).body.id);
  const list = async (query: string) => (await edge.call("GET", `/v1/assistants${query}`)).body;
  const newestFirst = ids.toReversed();
  const first = await list("?limit=2");
  expect(first).toMatchObject({ object: "list", first_id: newestFirst[0], last_id: newestFirst[1], has_more: true });
  const second = await list(`?limit=2&after=${first.last_id}`);
  const third = await list(`?limit=2&after=${second.last_id}`);
  expect([first, second, third].flatMap(({ data }) => data.map(({ id }: { id: string }) => id))).toEqual(newestFirst);
  expect(third.has_more).toBe(false);
  expect((await list(`?limit=2&before=${third.first_id}`)).data).toEqual(second.data);
  expect((await list("?order=asc")).data.map(({ id }: { id: string }) => id)).toEqual(ids);
  for (const query of ["limit=0", "limit=101", "limit=x", "order=up", "after=asst_none"]) {
    const { status, body } = await edge.call("GET", `/v1/assistants?${query}`);
    expect([query, status, body.error.param]).toEqual([query, 400, query.split("=")[0]]);
  }
  expect(await list("?limit=100&order=asc&after=")).toMatchObject({ has_more: false });
});

test("what is out of bounds or not offered is refused with the parameter at fault, and nothing is stored", async () => {
  const long = (length: number) => "x".repeat(length);
  const keys = Object.fromEntries(Array.from({ length: 17 }, (_, index) => [`k${index}`, "v"]));
  const STORES = "tool_resources.file_search.vector_stores";
  const cases: [object, number, string][] = [
    [{}, 422, "model"],
    [{ model: "nobody" }, 404, "model"],
    [{ ...assistant, name: long(257) }, 422, "name"],
    [{ ...assistant, description: long(513) }, 422, "description"],
    [{ ...assistant, metadata: keys }, 422, "metadata"],
    [{ ...assistant, metadata: { [long(65)]: "v" } }, 422, `metadata.${long(65)}`],
    [{ ...assistant, metadata: { k: long(513) } }, 422, "metadata.k"],
    [{ ...assistant, tools: Array(129).fill({ type: "file_search" }) }, 422, "tools"],
    [{ ...assistant, tools: [{ type: "oracle" }] }, 422, "tools[0].type"],
    [{ ...assistant, temperature: 3 }, 422, "temperature"],
    [{ ...assistant, tools: [{ type: "code_interpreter" }] }, 400, "tools[0].type"],
    [{ ...assistant, tool_resources: { file_search: { vector_store_ids: ["vs_1", "vs_2"] } } }, 400, "tool_resources.file_search"],
    [{ ...assistant, tool_resources: { file_search: { vector_stores: [{ file_ids: 1 }] } } }, 400, `${STORES}[0].file_ids`],
    [{ ...assistant, tool_resources: { code_interpreter: { file_ids: ["f"] } } }, 400, "tool_resources.code_interpreter"],
    [{ ...assistant, api_key: "k" }, 400, "api_key"],
  ];
  for (const [body, status, param] of cases) {
    const answer = await edge.call("POST", "/v1/assistants", body);
    expect([param, answer.status, answer.body.error.param]).toEqual([param, status, param]);
  }
  expect((await edge.call("GET", "/v1/assistants")).body.data).toEqual([]);
  const { secret } = edge.control.addKey({ models: { names: ["echo"] } });
  expect((await edge.call("POST", "/v1/assistants", assistant, secret)).status).toBe(403);
});

test("another team sees nothing of it: every id is a 404", async () => {
  const { secret: stranger } = edge.control.addKey({ teamId: "team_2" });
  const { body: made } = await edge.call("POST", "/v1/assistants", assistant);
  const { body: thread } = await edge.call("POST", "/v1/threads", { messages: [{ role: "user", content: "hi" }] });
  const { body: run } = await edge.call("POST", `/v1/threads/${thread.id}/runs`, { assistant_id: made.id });
  await edge.settled(thread.id, run.id);
  const messageId = (await edge.call("GET", `/v1/threads/${thread.id}/messages`)).body.first_id;
  const at = `/v1/threads/${thread.id}`;
  const asked: [string, string, object?][] = [
    ["GET", `/v1/assistants/${made.id}`],
    ["POST", `/v1/assistants/${made.id}`, {}],
    ["DELETE", `/v1/assistants/${made.id}`],
    ["GET", at],
    ["POST", at, {}],
    ["DELETE", at],
    ["GET", `${at}/messages`],
    ["POST", `${at}/messages`, { role: "user", content: "hi" }],
    ["GET", `${at}/messages/${messageId}`],
    ["DELETE", `${at}/messages/${messageId}`],
    ["GET", `${at}/runs`],
    ["POST", `${at}/runs`, { assistant_id: made.id }],
    ["GET", `${at}/runs/${run.id}`],
    ["POST", `${at}/runs/${run.id}/cancel`],
    ["POST", `${at}/runs/${run.id}/submit_tool_outputs`, { tool_outputs: [{ tool_call_id: "c", output: "o" }] }],
    ["GET", `${at}/runs/${run.id}/steps`],
    ["POST", "/v1/threads/runs", { assistant_id: made.id }],
  ];
  for (const [method, path, body] of asked) {
    expect([method, path, (await edge.call(method, path, body, stranger)).status]).toEqual([method, path, 404]);
  }
  expect((await edge.call("GET", "/v1/assistants", undefined, stranger)).body.data).toEqual([]);
});

test("a thread keeps its messages in order; modified, deleted with all that is below it", async () => {
  const messages = [
    { role: "user", content: "one" },
    { role: "assistant", content: [{ type: "text", text: "two" }] },
    {
      role: "user",
      content: [
        { type: "text", text: "see" },
        { type: "image_url", image_url: { url: "https://x/y.png" } },
      ],
    },
  ];
  const { body: thread } = await edge.call("POST", "/v1/threads", { messages, metadata: { k: "v" } });
  expect(thread).toEqual({
    id: expect.stringMatching(/^thread_/),
    object: "thread",
    created_at: expect.any(Number),
    metadata: { k: "v" },
    tool_resources: null,
  });
  expect((await edge.call("POST", `/v1/threads/${thread.id}`, { metadata: { k: "w" } })).body).toEqual({ ...thread, metadata: { k: "w" } });
  const { body: added } = await edge.call("POST", `/v1/threads/${thread.id}/messages`, {
    role: "user",
    content: "four",
    metadata: { n: "4" },
  });
  expect(added).toEqual({
    id: expect.stringMatching(/^msg_/),
    object: "thread.message",
    created_at: expect.any(Number),
    thread_id: thread.id,
    status: "completed",
    incomplete_details: null,
    completed_at: expect.any(Number),
    incomplete_at: null,
    role: "user",
    content: [{ type: "text", text: { value: "four", annotations: [] } }],
    assistant_id: null,
    run_id: null,
    attachments: [],
    metadata: { n: "4" },
  });
  const { body: listed } = await edge.call("GET", `/v1/threads/${thread.id}/messages?order=asc`);
  expect(listed.data.map(({ role }: { role: string }) => role)).toEqual(["user", "assistant", "user", "user"]);
  expect(listed.data[2].content[1]).toEqual({ type: "image_url", image_url: { url: "https://x/y.png", detail: "auto" } });
  const at = `/v1/threads/${thread.id}/messages/${added.id}`;
  expect((await edge.call("POST", at, { metadata: null })).body.metadata).toEqual({});
  expect((await edge.call("DELETE", at)).body).toEqual({ id: added.id, object: "thread.message.deleted", deleted: true });
  expect((await edge.call("GET", at)).status).toBe(404);
  expect((await edge.call("DELETE", `/v1/threads/${thread.id}`)).body).toEqual({ id: thread.id, object: "thread.deleted", deleted: true });
  expect((await edge.call("GET", `/v1/threads/${thread.id}/messages`)).status).toBe(404);
});

test("a thread needs no body at all; a message names only files of its team", async () => {
  const response = await fetch(`${edge.url}/threads`, {
    method: "POST",
    headers: { "x-gw-api-key": edge.secret, "openai-beta": "assistants=v2" },
  });
  const thread = (await response.json()) as { id: string };
  expect(response.status).toBe(200);
  const attachments = [{ file_id: "file-none", tools: [{ type: "file_search" }] }];
  const at = `/v1/threads/${thread.id}/messages`;
  const missing = await edge.call("POST", at, { role: "user", content: "hi", attachments });
  expect([missing.status, missing.body.error.param]).toEqual([404, "attachments[0].file_id"]);
  const images = await edge.call("POST", at, { role: "user", content: [{ type: "image_file", image_file: { file_id: "file-none" } }] });
  expect([images.status, images.body.error.param]).toEqual([404, "content[0].image_file.file_id"]);
  expect((await edge.call("POST", at, { role: "system", content: "hi" })).status).toBe(422);
  expect((await edge.call("GET", at)).body).toEqual({ object: "list", data: [], first_id: null, last_id: null, has_more: false });
});

test("a null in a change means: take it away; elsewhere it means: not given", () => {
  expect(parseRequest(assistantChange, { name: null }, undefined, { keepNulls: true })).toEqual({ name: null });
  expect(parseRequest(assistantChange, { name: null })).toEqual({});
});
