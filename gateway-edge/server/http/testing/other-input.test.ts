import type { Send } from "../../../upstream/providers/provider.ts";
import { deployment, FakeControl, startEdge, type TestEdge } from "./edge-fixture.ts";
import { answerOfEveryApi } from "./every-api-fixture.ts";

const edges: TestEdge[] = [];
afterEach(async () => {
  for (const edge of edges.splice(0)) await edge.close();
});

/** What the provider reads of LONG, at four characters a token. */
const READ_TOKENS = 120_100;
const LONG = "word ".repeat((READ_TOKENS * 4) / 5);
const TEXT_FILE = `data:text/plain;base64,${Buffer.from(LONG).toString("base64")}`;
const schema = { type: "object", description: LONG };
const messages = [{ role: "user", content: "hi" }];

async function open(providerKind: string) {
  const control = new FakeControl();
  control.deployments = [...control.deployments, deployment({ modelName: "m", id: "dep_m", providerKind, inferenceModelId: "m-of-ours" })];
  const send: Send = async () => answerOfEveryApi({ input: READ_TOKENS, output: 1 });
  const edge = await startEdge(control, { send }, { JSON_BODY_BYTES_MAX: "2000000" });
  edges.push(edge);
  const { secret } = control.addKey();
  return { control, post: (path: string, body: object) => edge.post(path, body, { authorization: `Bearer ${secret}` }) };
}

const CHAT = "/v1/chat/completions";
const tool = (description: string) => ({ type: "function", function: { name: "f", description } });

test.each<[string, string, object]>([
  [CHAT, "openai", { messages, response_format: { type: "json_schema", json_schema: { name: "s", schema } } }],
  [CHAT, "openai", { messages, prediction: { type: "content", content: LONG } }],
  [CHAT, "openai", { messages, guided_json: LONG }],
  [CHAT, "openai", { messages, [LONG]: 1 }],
  [CHAT, "openai", { messages, tools: [tool("")], functions: [{ name: "g", description: LONG }] }],
  [CHAT, "openai", { messages: [{ role: "assistant", content: "hi", function_call: { name: "f", arguments: LONG } }, ...messages] }],
  [CHAT, "openai", { messages: [{ role: "assistant", content: "hi", reasoning_content: LONG }, ...messages] }],
  [CHAT, "openai", { messages: [{ role: "user", content: "hi", name: LONG }] }],
  [CHAT, "openai", { messages: [{ role: "user", content: [{ type: "text", text: `data:image/png;base64,${LONG}` }] }] }],
  [CHAT, "openai", { messages: [{ role: "user", content: [{ type: "file", file: { filename: "a.txt", file_data: TEXT_FILE } }] }] }],
  [
    "/v1/responses",
    "openai",
    { store: false, input: [{ role: "user", content: [{ type: "input_file", filename: "a.md", file_data: TEXT_FILE }] }] },
  ],
  ["/v1/responses", "openai", { input: "hi", store: false, text: { format: { type: "json_schema", name: "s", schema } } }],
  ["/v1/messages", "anthropic", { messages, max_tokens: 9, output_config: { format: { type: "json_schema", schema } } }],
  ["/v1/completions", "openai", { prompt: "hi", suffix: LONG }],
])("%s of %s: text that is neither a message nor a tool is set aside for and billed as it was read (%#)", async (path, kind, body) => {
  const { control, post } = await open(kind);
  const response = await post(path, { model: "m", max_tokens: path === "/v1/responses" ? undefined : 9, ...body });
  expect({ status: response.status, text: response.status === 200 ? "" : await response.text() }).toEqual({ status: 200, text: "" });
  expect(control.made).toMatchObject([{ usage: { input: BigInt(READ_TOKENS), source: "provider" } }]);
  const [{ worstCase } = { worstCase: 0n }] = control.intents;
  expect(worstCase).toBeGreaterThanOrEqual(control.made[0]?.cost ?? 0n);
});

test("settings of a usual request are no input", async () => {
  const { control, post } = await open("openai");
  const plain = { model: "m", max_tokens: 9, messages };
  const usual = {
    ...{ temperature: 0.5, metadata: { trace: "x".repeat(400) }, user: "someone", stop: ["a"], logit_bias: { 50: -100 } },
    ...{ response_format: { type: "json_object" }, seed: 7, top_p: 1, reasoning_effort: "low" },
  };
  const echoed = { role: "assistant", content: "ok", refusal: null, annotations: [], audio: null, function_call: null, tool_calls: null };
  await (await post(CHAT, plain)).text();
  await (await post(CHAT, { ...plain, ...usual, drop_params: true })).text();
  await (await post(CHAT, { ...plain, messages: [{ role: "assistant", content: "ok" }, ...messages] })).text();
  await (await post(CHAT, { ...plain, messages: [echoed, ...messages] })).text();
  const [first, second, third, fourth] = control.intents.map(({ worstCase }) => worstCase);
  expect([second, fourth]).toEqual([first, third]);
});
