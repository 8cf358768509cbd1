import OpenAI from "openai";
import { type AssistantsEdge, type Scripted, startAssistantsEdge } from "../../../stored/assistants/runs-fixture.ts";

let edge: AssistantsEdge;
let client: OpenAI;
afterEach(() => edge?.close());

const call = (query: string, id = "call_s") => ({ id, name: "file_search", arguments: JSON.stringify({ query }) });
const SEARCH: Scripted = { calls: [call("capital of Norway")] };
const ANSWER: Scripted = { text: ["It is ", "Oslo [1]."] };
const TOOLS = [{ type: "file_search" as const }];

async function open(...answers: readonly Scripted[]): Promise<void> {
  edge = await startAssistantsEdge(...answers);
  client = new OpenAI({ apiKey: edge.secret, baseURL: `${edge.url}/v1`, maxRetries: 0 });
}

const fileOf = async (name: string, text: string) =>
  (await client.files.create({ file: new File([text], name), purpose: "assistants" })).id;

async function storeOf(texts: Readonly<Record<string, string>>): Promise<string> {
  const { id } = await client.vectorStores.create({ name: "atlas" });
  for (const [name, text] of Object.entries(texts)) {
    await client.vectorStores.files.createAndPoll(id, { file_id: await fileOf(name, text) }, { pollIntervalMs: 20 });
  }
  return id;
}

const resources = (id: string) => ({ file_search: { vector_store_ids: [id] } });
const searches = () => [...edge.control.settled.values()].filter(({ endpoint }) => endpoint === "/v1/vector_stores");
const lastMessage = async (threadId: string) => (await client.beta.threads.messages.list(threadId)).data[0];

test("a run searches the stores of its assistant and its thread, pays for each search, and its message cites the files", async () => {
  await open(SEARCH, ANSWER);
  const [north, south] = [
    await storeOf({ "north.txt": "Oslo is the capital of Norway." }),
    await storeOf({ "south.txt": "Rome is the capital of Italy." }),
  ];
  const tool = { type: "file_search" as const, file_search: { max_num_results: 7, ranking_options: { score_threshold: 0 } } };
  const assistant = await client.beta.assistants.create({ model: "scripted", tools: [tool], tool_resources: resources(north) });
  const thread = await client.beta.threads.create({ messages: [{ role: "user", content: "capital?" }], tool_resources: resources(south) });
  const before = searches().length;
  const run = await client.beta.threads.runs.createAndPoll(thread.id, { assistant_id: assistant.id }, { pollIntervalMs: 20 });
  expect([run.status, run.last_error]).toEqual(["completed", null]);
  expect(searches().slice(before)).toMatchObject([{ status: "success" }, { status: "success" }]);
  const [step] = (await client.beta.threads.runs.steps.list(run.id, { thread_id: thread.id, order: "asc" })).data;
  expect(step?.step_details).toMatchObject({
    type: "tool_calls",
    tool_calls: [
      {
        ...{ id: "call_s", type: "file_search" },
        file_search: {
          ranking_options: { ranker: "auto", score_threshold: 0 },
          results: [
            { file_name: "north.txt", content: [{ type: "text", text: "Oslo is the capital of Norway." }] },
            { file_name: "south.txt" },
          ],
        },
      },
    ],
  });
  expect(edge.upstream.requests[0]?.["tools"]).toMatchObject([{ type: "function", function: { name: "file_search" } }]);
  expect(edge.upstream.requests[1]?.messages.at(-1)).toMatchObject({
    ...{ role: "tool", tool_call_id: "call_s" },
    content: expect.stringContaining("[1] north.txt\nOslo is the capital of Norway."),
  });
  const [file] = (await client.vectorStores.files.list(north)).data;
  expect((await lastMessage(thread.id))?.content).toEqual([
    {
      type: "text",
      text: {
        value: "It is Oslo [1].",
        annotations: [{ type: "file_citation", text: "[1]", start_index: 11, end_index: 14, file_citation: { file_id: file?.id } }],
      },
    },
  ]);
});

test("a change of an assistant or a thread that does not exist creates no vector store", async () => {
  await open();
  const tool_resources = { file_search: { vector_stores: [{ file_ids: [await fileOf("a.txt", "Oslo")] }] } };
  for (const path of ["/assistants/asst_none", "/threads/thread_none"]) {
    await expect(client.post(path, { body: { tool_resources } })).rejects.toMatchObject({ status: 404 });
  }
  expect((await client.vectorStores.list()).data).toEqual([]);
});

test("attached files go to a vector store of the thread, once each, and a run waits until they are indexed", async () => {
  await open(SEARCH, ANSWER);
  const file_id = await fileOf("north.txt", "Oslo is the capital of Norway.");
  const attachments = [{ file_id, tools: TOOLS }];
  const assistant = await client.beta.assistants.create({ model: "scripted", tools: TOOLS });
  const thread = await client.beta.threads.create({ messages: [{ role: "user", content: "Read this.", attachments }] });
  const [id = ""] = thread.tool_resources?.file_search?.vector_store_ids ?? [];
  expect(await client.vectorStores.retrieve(id)).toMatchObject({ file_counts: { total: 1 }, expires_after: { days: 7 } });
  const events = [];
  for await (const event of client.beta.threads.runs.stream(thread.id, {
    assistant_id: assistant.id,
    additional_messages: [{ role: "user", content: "Again.", attachments }],
  })) {
    events.push(event);
  }
  expect(searches()).toHaveLength(2);
  const cited = events.filter(({ event }) => event === "thread.message.delta").at(-1);
  expect(cited?.data).toMatchObject({
    delta: {
      content: [{ index: 0, type: "text", text: { annotations: [{ index: 0, type: "file_citation", file_citation: { file_id } }] } }],
    },
  });
  expect((await client.beta.threads.retrieve(thread.id)).tool_resources).toEqual(thread.tool_resources);
});

test("vector stores can be described with an assistant, a thread or a run; another team's store is a 404", async () => {
  await open(SEARCH, ANSWER);
  const file_id = await fileOf("north.txt", "Oslo is the capital of Norway.");
  const described = { file_search: { vector_stores: [{ file_ids: [file_id] }] } };
  const assistant = await client.beta.assistants.create({ model: "scripted", tools: TOOLS, tool_resources: described });
  const [own = ""] = assistant.tool_resources?.file_search?.vector_store_ids ?? [];
  expect(assistant.tool_resources).toEqual({ file_search: { vector_store_ids: [own] } });
  const other = await storeOf({ "south.txt": "Rome is the capital of Italy." });
  const given = { assistant_id: assistant.id, thread: { messages: [{ role: "user" as const, content: "?" }] } };
  const run = await client.beta.threads.createAndRunPoll({ ...given, tool_resources: resources(other) }, { pollIntervalMs: 20 });
  expect(run.status).toBe("completed");
  // The resources of the run took the place of the assistant's.
  expect(edge.upstream.requests[1]?.messages.at(-1)?.content).toBe("[1] south.txt\nRome is the capital of Italy.");
  const stranger = new OpenAI({ apiKey: edge.control.addKey({ teamId: "team_2" }).secret, baseURL: `${edge.url}/v1`, maxRetries: 0 });
  await expect(stranger.beta.threads.create({ tool_resources: resources(other) })).rejects.toMatchObject({ status: 404 });
  await expect(stranger.beta.assistants.create({ model: "scripted", tool_resources: resources(own) })).rejects.toMatchObject({
    status: 404,
  });
});

test("a run whose store is gone fails with the reason, and no model is called", async () => {
  await open(SEARCH, ANSWER);
  const store = await storeOf({});
  const assistant = await client.beta.assistants.create({ model: "scripted", tools: TOOLS, tool_resources: resources(store) });
  await client.vectorStores.delete(store);
  const run = await client.beta.threads.createAndRunPoll({ assistant_id: assistant.id }, { pollIntervalMs: 20 });
  expect([run.status, run.last_error?.message]).toEqual(["failed", `No vector store found with id '${store}'.`]);
  expect(edge.upstream.requests).toEqual([]);
});
