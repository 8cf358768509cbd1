import type OpenAI from "openai";
import { NotFoundError, PermissionDeniedError } from "openai";
import { VERSION } from "openai/version";
import { call } from "../../helpers/api.ts";
import { type Bench, nodeClient, startBench, user } from "./bench.ts";
import { python, recordVersion, testCases, testScript } from "./cases.ts";
import { deploymentId } from "./gateway-config.ts";

let bench: Bench;

beforeAll(async () => {
  recordVersion("openai-node", VERSION);
  bench = await startBench();
});
afterAll(() => bench?.stop());

const ask = (openai: OpenAI, model = "oai") => openai.chat.completions.create({ model, messages: user("ping") });

function expectPong(answer: Awaited<ReturnType<typeof ask>> & { _request_id?: string | null }): void {
  const [choice] = answer.choices;
  expect([choice?.message.content, choice?.finish_reason, choice?.message.role]).toEqual(["pong", "stop", "assistant"]);
  expect([answer.object, answer.model]).toEqual(["chat.completion", "oai"]);
  expect(answer.usage).toMatchObject({ prompt_tokens: 7, completion_tokens: 1, total_tokens: 8 });
  expect(answer._request_id).toEqual(expect.stringMatching(/./));
}

testCases("openai-node", {
  A1: async () => {
    const client = nodeClient(bench);
    expectPong(await ask(client.openai));
    expect(client.attempts).toBe(1);
    const sent = bench.fake.last("pong");
    expect([sent.path, sent.body.messages]).toEqual(["/openai/v1/chat/completions", user("ping")]);
  },
  A2: async () => {
    for (const baseURL of [bench.system.url, `${bench.system.url}/`, `${bench.baseUrl}/`]) {
      expectPong(await ask(nodeClient(bench, { baseURL }).openai));
    }
  },
  A5: async () => {
    const client = nodeClient(bench, { apiKey: bench.restrictedKey });
    expectPong(await ask(client.openai));
    client.attempts = 0;
    const error = await ask(client.openai, "oai-tools").catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(PermissionDeniedError);
    expect(error).toMatchObject({ status: 403, param: "model" });
    expect(client.attempts).toBe(1);
  },
  A7: async () => {
    const { openai } = nodeClient(bench);
    const models = [];
    for await (const model of openai.models.list()) models.push(model);
    expect(models.find(({ id }) => id === "oai")).toMatchObject({
      object: "model",
      owned_by: expect.any(String),
      created: expect.any(Number),
    });
    expect(new Set(models.map(({ id }) => id)).size).toBe(models.length);
    expect(await openai.models.retrieve("oai")).toMatchObject({ id: "oai", object: "model" });
    expect(await openai.models.retrieve("vendor/name")).toMatchObject({ id: "vendor/name", object: "model" });
  },
  A8: async () => {
    await expect(nodeClient(bench).openai.models.retrieve("nope")).rejects.toThrow(NotFoundError);
  },
  A10: async () => {
    expectPong(await ask(nodeClient(bench, { apiKey: "dummy", defaultHeaders: { "x-gw-api-key": bench.key } }).openai));
  },
  A13: async () => {
    const { data, response } = await nodeClient(bench)
      .openai.chat.completions.create({ model: "oai", messages: user("ping") })
      .withResponse();
    expectPong(data);
    const info = await call(bench.system.url, "GET", "/model/info", { key: bench.key });
    const ids = info.body.data
      .filter((entry: { model_name: string }) => entry.model_name === "oai")
      .map((entry: { model_info: { id: string } }) => entry.model_info.id);
    expect(ids).toEqual([deploymentId("oai")]);
    expect(response.headers.get("x-gw-model-id")).toBe(ids[0]);
    expect(response.headers.get("x-gw-model-group")).toBe("oai");
  },
});

testCases("curl", {
  A4: async () => {
    const body = { model: "oai", messages: user("ping") };
    const requests = [
      ["/v1/chat/completions", { "x-gw-api-key": bench.key }],
      ["/v1/chat/completions", { "x-api-key": bench.key }],
      ["/v1/chat/completions", { authorization: `Bearer ${bench.key}` }],
      ["/openai/deployments/oai/chat/completions?api-version=2024-10-21", { "api-key": bench.key }],
    ] as const;
    for (const [path, headers] of requests) {
      const answer = await call(bench.system.url, "POST", path, { body, headers });
      expect([path, answer.status]).toEqual([path, 200]);
    }
    const none = await call(bench.system.url, "POST", "/v1/chat/completions", { body });
    expect([none.status, none.body.error.code]).toEqual([401, "invalid_api_key"]);
  },
  A11: async () => {
    const { key } = bench;
    const send = (body: string, headers: Record<string, string>) =>
      call(bench.system.url, "POST", "/v1/chat/completions", { key, body, headers });
    const good = JSON.stringify({ model: "oai", messages: user("ping") });
    const refusals = [
      [await send("{not json", {}), [400]],
      [await send(good, { "content-type": "text/plain" }), [400, 415]],
      [await send(JSON.stringify({ model: "oai", messages: user("x".repeat(11 * 1024 * 1024)) }), {}), [413]],
    ] as const;
    for (const [{ status, headers, body }, allowed] of refusals) {
      expect(allowed).toContain(status);
      expect(headers.get("content-type")).toMatch(/^application\/json/);
      expect(body.error).toEqual({ message: expect.stringMatching(/./), type: expect.any(String), param: null, code: expect.any(String) });
    }
  },
});

testScript({
  client: "openai-python",
  ids: ["A1", "A2", "A5", "A7", "A8", "A10", "A13"],
  command: python("a_basics.py"),
  bench: () => bench,
});
