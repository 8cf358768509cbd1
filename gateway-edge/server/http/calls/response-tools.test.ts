import OpenAI from "openai";
import { echoUpstream } from "../../../upstream/providers/echo/upstream.ts";
import type { Fields, Send } from "../../../upstream/providers/provider.ts";
import { startMcpServer } from "../mcp/mcp-server-fixture.ts";
import { deployment, FakeControl, startEdge } from "../testing/edge-fixture.ts";
import { jsonCaller } from "../testing/json-caller-fixture.ts";

type Message = { readonly content?: string | null; readonly tool_calls?: readonly Fields[] };
const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

const toolCall = (name: string, given: object, index = 0) => ({
  ...{ index, id: `call_${name}_${index}`, type: "function", function: { name, arguments: JSON.stringify(given) } },
});
const usage = { prompt_tokens: 10, completion_tokens: 5 };

function answerText(message: Message, isStream: boolean): string {
  const finish_reason = message.tool_calls ? "tool_calls" : "stop";
  if (!isStream) return JSON.stringify({ choices: [{ index: 0, message: { role: "assistant", ...message }, finish_reason }], usage });
  const chunk = (fields: object) => `data: ${JSON.stringify({ choices: [], ...fields })}\n\n`;
  const deltas = [
    { role: "assistant", content: message.content ?? "" },
    ...(message.tool_calls ?? []).map((call) => ({ tool_calls: [call] })),
  ];
  const parts = deltas.map((delta) => chunk({ choices: [{ index: 0, delta, finish_reason: null }] }));
  return [...parts, chunk({ choices: [{ index: 0, delta: {}, finish_reason }] }), chunk({ usage }), "data: [DONE]\n\n"].join("");
}

/** An edge with an MCP server, in front of a model that says these messages, one for each round; the last one again and again. */
async function open(messages: readonly Message[]) {
  const control = new FakeControl();
  const guardrail = { guardrail_name: "no-apples", litellm_params: { guardrail: "word-list", words: ["apple"] } };
  control.settings = JSON.stringify({ guardrails: [guardrail] });
  const sent: Fields[] = [];
  const send: Send = async ({ body }) => {
    const request = JSON.parse(String(body)) as Fields;
    sent.push(request);
    const text = answerText(messages[sent.length - 1] ?? messages.at(-1) ?? {}, request["stream"] === true);
    return {
      status: 200,
      headers: {},
      body: (async function* () {
        yield Buffer.from(text);
      })(),
    };
  };
  const vectors = deployment({ modelName: "vectors" });
  control.deployments = [
    deployment({
      modelName: "gpt",
      providerKind: "openai",
      inferenceModelId: "gpt-4o",
      baseUrl: "http://up/v1",
      apiKey: "k",
      params: "{}",
    }),
    { ...vectors, model: vectors.model && { ...vectors.model, type: "embedding" } },
  ];
  const server = await startMcpServer({ hasSessions: false });
  control.mcpServers.push({
    ...{ id: "mcp_1", organizationId: "org_1", name: "test", url: server.url, headers: {}, pricePerCall: 2_500_000n },
    allowedTools: { names: ["shout"] },
  });
  const edge = await startEdge(control, {
    send: (request, signal) => (request.url.startsWith("echo:") ? echoUpstream(request, signal) : send(request, signal)),
  });
  closing.push(server.close, edge.close);
  const { secret } = control.addKey();
  const client = new OpenAI({ apiKey: secret, baseURL: `${edge.url}/v1`, maxRetries: 0 });
  return { control, edge, client, sent, server, call: jsonCaller(edge.url, secret) };
}

async function storeOf(client: OpenAI, texts: Readonly<Record<string, string>>): Promise<string> {
  const { id } = await client.vectorStores.create({ name: "atlas" });
  for (const [name, text] of Object.entries(texts)) {
    const file = await client.files.create({ file: new File([text], name), purpose: "assistants" });
    await client.vectorStores.files.createAndPoll(id, { file_id: file.id }, { pollIntervalMs: 20 });
  }
  return id;
}

const rowsOf = (control: FakeControl, endpoint: string) => [...control.settled.values()].filter((row) => row.endpoint === endpoint);
const SEARCH = { content: null, tool_calls: [toolCall("file_search", { query: "capital of Norway" })] };
const ANSWER = { content: "It is Oslo [1]." };

test("file_search runs over the team's vector stores, is billed as a search, and the answer cites its files", async () => {
  const { client, control, sent } = await open([SEARCH, ANSWER]);
  const store = await storeOf(client, { "north.txt": "Oslo is the capital of Norway." });
  const before = rowsOf(control, "/v1/vector_stores").length;
  const tools = [{ type: "file_search" as const, vector_store_ids: [store], max_num_results: 3 }];
  const response = await client.responses.create({ model: "gpt", input: "capital?", tools, include: ["file_search_call.results"] });
  expect(response.output).toMatchObject([
    { type: "file_search_call", status: "completed", queries: ["capital of Norway"], results: [{ filename: "north.txt" }] },
    { type: "message", content: [{ text: ANSWER.content, annotations: [{ type: "file_citation", filename: "north.txt", index: 11 }] }] },
  ]);
  expect(response.usage).toMatchObject({ input_tokens: 20, output_tokens: 10 });
  expect(rowsOf(control, "/v1/vector_stores")).toHaveLength(before + 1);
  expect(rowsOf(control, "/v1/responses").map(({ status }) => status)).toEqual(["success", "success"]);
  expect(sent[0]?.["tools"]).toMatchObject([{ type: "function", function: { name: "file_search" } }]);
  expect(sent[1]?.["messages"]).toMatchObject([
    { role: "user" },
    { role: "assistant", tool_calls: [{ id: "call_file_search_0" }] },
    { role: "tool", tool_call_id: "call_file_search_0", content: expect.stringContaining("[1] north.txt\nOslo") },
  ]);
  const plain = await client.responses.retrieve(response.id);
  expect(plain.output[0]).toMatchObject({ type: "file_search_call", results: null });
  const next = await client.responses.create({ model: "gpt", input: "sure?", previous_response_id: response.id });
  expect(next.output_text).toBe(ANSWER.content);
});

test("streamed, the events of tools and text assemble to the same response", async () => {
  const { client } = await open([SEARCH, ANSWER]);
  const store = await storeOf(client, { "north.txt": "Oslo is the capital of Norway." });
  const stream = client.responses.stream({ model: "gpt", input: "capital?", tools: [{ type: "file_search", vector_store_ids: [store] }] });
  const types: string[] = [];
  for await (const event of stream) types.push(event.type);
  const final = await stream.finalResponse();
  expect([final.output_text, final.output.map(({ type }) => type)]).toEqual([ANSWER.content, ["file_search_call", "message"]]);
  expect(final.usage).toMatchObject({ input_tokens: 20, output_tokens: 10 });
  expect(types).toEqual(
    expect.arrayContaining(["response.file_search_call.searching", "response.output_text.annotation.added", "response.completed"]),
  );
});

const MCP = { type: "mcp" as const, server_label: "test", require_approval: "never" as const };

test.each([false, true])(
  "tools of a registered MCP server are listed, called and billed as /mcp does (background: %s)",
  async (background) => {
    const { client, control, sent, server } = await open([
      { tool_calls: [toolCall("test__shout", { text: "hello" })] },
      { content: "HELLO!" },
    ]);
    let response = await client.responses.create({ model: "gpt", input: "shout", tools: [MCP], background });
    for (let turn = 0; turn < 500 && response.status !== "completed"; turn++) {
      await new Promise((resolve) => setTimeout(resolve, 10));
      response = await client.responses.retrieve(response.id);
    }
    expect(response.output).toMatchObject([
      { type: "mcp_list_tools", server_label: "test", tools: [{ name: "shout", description: "Shouts." }] },
      { type: "mcp_call", server_label: "test", name: "shout", arguments: '{"text":"hello"}', output: "HELLO", error: null },
      { type: "message", content: [{ text: "HELLO!" }] },
    ]);
    expect([server.called, rowsOf(control, "/mcp")]).toMatchObject([
      ["hello"],
      [{ model: "test__shout", cost: 2_500_000n, status: "success" }],
    ]);
    const onceFor = [...control.settled.values()].map((row) => row.onceFor);
    if (background) expect(onceFor).toEqual([`${response.id}/0.0`, `${response.id}/0.1.0`, `${response.id}/0.1`]);
    else expect(onceFor).toEqual([undefined, undefined, undefined]);
    expect(sent[1]?.["messages"]).toMatchObject([{}, {}, { role: "tool", content: "HELLO" }]);
  },
);

test("the cost of a response is the sum of all lines that it was billed: rounds, searches and MCP calls", async () => {
  const calls = [...SEARCH.tool_calls, toolCall("test__shout", { text: "hello" }, 1)];
  const { client, control, call, sent } = await open([{ content: null, tool_calls: calls }, ANSWER]);
  const store = await storeOf(client, { "north.txt": "Oslo is the capital of Norway." });
  const tools = [{ type: "file_search" as const, vector_store_ids: [store] }, MCP];
  const billed = (before: ReadonlySet<string>) => {
    const rows = [...control.settled.entries()].filter(([id]) => !before.has(id)).map(([, row]) => row);
    expect(new Set(rows.map(({ endpoint }) => endpoint))).toEqual(new Set(["/v1/responses", "/v1/vector_stores", "/mcp"]));
    return rows.reduce((sum, { cost }) => sum + cost, 0n);
  };
  const ask = async (stream: boolean) => {
    const before = new Set(control.settled.keys());
    const answer = await call("POST", "/v1/responses", { model: "gpt", input: "capital?", tools, stream });
    return { answer, sum: String(billed(before)) };
  };
  const whole = await ask(false);
  expect(whole.answer.headers.get("x-gw-cost-nano")).toBe(whole.sum);
  sent.length = 0;
  const streamed = await ask(true);
  expect(/"cost_nano":(\d+)/.exec(streamed.answer.text)?.[1]).toBe(streamed.sum);
});

test("a model that only calls tools is ended, and a call of the caller's function ends the loop", async () => {
  const endless = await open([{ tool_calls: [toolCall("test__shout", { text: "again" })] }]);
  await endless.client.responses.create({ model: "gpt", input: "shout", tools: [MCP], tool_choice: "required" });
  expect([endless.sent.length, endless.server.called.length]).toEqual([10, 9]);
  expect(endless.sent.map((request) => request["tool_choice"])).toEqual(["required", ...Array(8).fill("auto"), "none"]);
  const bounded = await open([
    { tool_calls: [0, 1, 2].map((index) => toolCall("test__shout", { text: "x" }, index)) },
    { content: "done" },
  ]);
  await bounded.client.responses.create({ model: "gpt", input: "shout", tools: [MCP], max_tool_calls: 2 });
  expect([bounded.server.called.length, bounded.sent[1]?.["tool_choice"]]).toEqual([2, "none"]);
  const mixed = await open([{ tool_calls: [toolCall("test__shout", { text: "x" }), toolCall("mine", {}, 1)] }]);
  const tools = [MCP, { type: "function" as const, name: "mine", strict: false, parameters: {} }];
  const response = await mixed.client.responses.create({ model: "gpt", input: "both", tools });
  expect([mixed.sent.length, response.output.map(({ type }) => type)]).toEqual([1, ["mcp_list_tools", "function_call", "mcp_call"]]);
});

test("what these tools cannot do is refused by name before anything is sent", async () => {
  const { call, sent, control, client } = await open([ANSWER]);
  const store = await storeOf(client, {});
  const refused = async (tool: object, param: string, status = 400, key?: string) => {
    const answer = await call("POST", "/v1/responses", { model: "gpt", input: "x", tools: [tool] }, key);
    expect([answer.status, answer.json["error"]]).toMatchObject([status, param === "" ? {} : { param }]);
  };
  await refused({ type: "file_search" }, "tools[0].vector_store_ids");
  await refused({ type: "file_search", vector_store_ids: ["vs_none"] }, "", 404);
  await refused({ type: "file_search", vector_store_ids: Array(6).fill(store) }, "tools[0].vector_store_ids");
  await refused({ ...MCP, server_label: "none" }, "tools[0].server_label");
  await refused({ ...MCP, require_approval: "always" }, "tools[0].require_approval");
  await refused({ ...MCP, server_url: "https://elsewhere.example/mcp" }, "tools[0].server_url");
  await refused({ ...MCP, allowed_tools: ["hidden"] }, "tools[0].server_label");
  await refused({ type: "code_interpreter" }, "tools[0].type");
  const stranger = control.addKey({ teamId: "team_2", organizationId: "org_2" }).secret;
  await refused({ type: "file_search", vector_store_ids: [store] }, "", 404, stranger);
  await refused(MCP, "tools[0].server_label", 400, stranger);
  expect(sent).toEqual([]);
});

test("MCP servers are listed once for a request, only those it names, and not for a call that is refused anyway", async () => {
  const { call, server, control, sent } = await open([ANSWER]);
  const other = await startMcpServer({ hasSessions: false });
  closing.push(other.close);
  control.mcpServers.push({ ...{ id: "mcp_2", organizationId: "org_1", name: "other", url: other.url, headers: {}, pricePerCall: 0n } });
  const ask = async (fields: object) => {
    const { status, json } = await call("POST", "/v1/responses", { model: "gpt", input: "x", tools: [MCP], ...fields });
    return [status, json["error"]];
  };
  expect(await ask({ model: "none" })).toMatchObject([404, { param: "model" }]);
  expect(await ask({ tools: [MCP, { ...MCP, server_label: "other" }, MCP] })).toMatchObject([400, { param: "tools[2].server_label" }]);
  expect(await ask({ guardrails: ["no-apples"] })).toMatchObject([400, { message: expect.stringContaining("Guardrails apply") }]);
  expect([server.requests.length, other.requests.length, sent.length]).toEqual([0, 0, 0]);
  expect(await ask({})).toMatchObject([200, null]);
  expect([server.requests.length > 0, other.requests.length]).toEqual([true, 0]);
  const tools = [MCP, { ...MCP, server_label: "other" }];
  expect(await ask({ tools, tool_choice: { type: "mcp", server_label: "other" } })).toMatchObject([200, null]);
  const offered = ["other__shout", "other__hidden"].map((name) => ({ function: { name } }));
  expect(sent.at(-1)).toMatchObject({ tool_choice: "required", tools: offered });
});
