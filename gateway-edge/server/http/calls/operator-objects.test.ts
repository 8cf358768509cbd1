import type { Fields } from "../../../upstream/providers/provider.ts";
import { deployment, FakeControl, startEdge, type TestEdge } from "../testing/edge-fixture.ts";
import { jsonCaller } from "../testing/json-caller-fixture.ts";
import { scriptedSend } from "../testing/scripted-send-fixture.ts";

let edge: TestEdge;
afterEach(() => edge?.close());

const PRICES = { input: 1n, output: 1n };
const AWS = { aws_region_name: "us-east-1", aws_access_key_id: "id", aws_secret_access_key: "key" };
const index = [{ type: "azure_search", parameters: { index_name: "ours" } }];
const KINDS = [
  ["gpt", "openai", "gpt-5", {}],
  ["claude", "anthropic", "claude-sonnet-4-5", {}],
  ["nova", "bedrock", "amazon.nova-lite-v1:0", AWS],
  ["gemini", "gemini", "gemini-2.5-flash", {}],
  ["azure", "azure", "gpt-4o", {}],
  ["azure-with-index", "azure", "gpt-4o", { extra_body: { data_sources: index } }],
] as const;

const ANSWER = {
  choices: [{ index: 0, message: { role: "assistant", content: "Hi." }, finish_reason: "stop" }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
};

async function open() {
  const control = new FakeControl();
  control.deployments = KINDS.map(([modelName, providerKind, inferenceModelId, params]) =>
    deployment(
      { modelName, providerKind, inferenceModelId, baseUrl: "https://upstream.test", apiKey: "up", params: JSON.stringify(params) },
      PRICES,
    ),
  );
  const { send, requests } = scriptedSend([JSON.stringify(ANSWER)]);
  edge = await startEdge(control, { send });
  return { post: jsonCaller(edge.url, control.addKey().secret), requests, control };
}

const image = { type: "image_url", image_url: { url: "s3://archive/usage/a.png" } };
const source = { type: "url", url: "gs://victim/a.png" };

test.each([
  ["/v1/chat/completions", { messages: [{ role: "user", content: [image] }] }, "messages[0].content[0].image_url.url"],
  ["/v1/messages", { max_tokens: 9, messages: [{ role: "user", content: [{ type: "image", source }] }] }, /^messages\[0\]\.content\[0\]\./],
  [
    "/v1/responses",
    { input: [{ role: "user", content: [{ type: "input_file", file_url: "gs://victim/a.pdf" }] }] },
    /^(input|messages)\[0\]\.content\[0\]\./,
  ],
] as const)(
  "%s: an address that the provider reads as the operator is refused at every model, passed or translated",
  async (path, body, at) => {
    const { post, requests, control } = await open();
    for (const [model] of KINDS) {
      const { status, json } = await post("POST", path, { ...body, model });
      // A provider that fetches no documents refuses any address of one.
      const message = expect.stringMatching(/only https, http and data URLs are accepted|does not fetch documents by URL/);
      expect([model, status, json["error"]]).toEqual([model, 400, expect.objectContaining({ message })]);
      if (path === "/v1/messages") continue;
      const expected = typeof at === "string" ? at : expect.stringMatching(at);
      expect(json["error"]).toMatchObject({ type: "invalid_request_error", code: "unsupported_parameter", param: expected });
    }
    expect(requests).toEqual([]);
    expect([...control.settled.values()].every(({ cost }) => cost === 0n)).toBe(true);
  },
);

test("indexes that Azure reads as the operator are the operator's to name: a client's are refused in every API, a deployment's are sent", async () => {
  const { post, requests } = await open();
  const chat = { model: "azure", messages: [{ role: "user", content: "x" }] };
  const bodies: [string, Fields, string][] = [
    ["/v1/chat/completions", { ...chat, data_sources: index }, "data_sources"],
    ["/v1/chat/completions", { ...chat, dataSources: index, drop_params: true }, "dataSources"],
    ["/v1/chat/completions", { ...chat, extra_body: { data_sources: index } }, "extra_body.data_sources"],
    ["/v1/chat/completions", { ...chat, model: "gemini", data_sources: index }, "data_sources"],
    ["/v1/responses", { model: "azure", input: "x", data_sources: index }, "data_sources"],
    ["/v1/completions", { model: "azure", prompt: "x", data_sources: index }, "data_sources"],
    ["/v1/embeddings", { model: "azure", input: "x", data_sources: index }, "data_sources"],
  ];
  for (const [path, body, param] of bodies) {
    const { status, json } = await post("POST", path, body);
    const advice = "The operator can set data_sources in extra_body of the deployment.";
    const message = `The parameter ${param} is not accepted from clients. ${advice}`;
    expect([status, json["error"]]).toMatchObject([400, { code: "unsupported_parameter", param, message }]);
  }
  expect((await post("POST", "/v1/messages", { ...chat, max_tokens: 9, data_sources: index })).status).toBe(400);
  expect(requests).toEqual([]);
  expect((await post("POST", "/v1/chat/completions", { ...chat, model: "azure-with-index" })).status).toBe(200);
  expect(JSON.parse(String(requests[0]?.body))).toMatchObject({ data_sources: index });
});
