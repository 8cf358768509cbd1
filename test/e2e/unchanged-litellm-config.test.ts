import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Answer, call, newTenant, type Tenant } from "../helpers/api.ts";
import { textReply } from "../helpers/fake-upstream/script.ts";
import { type FakeUpstream, startFakeUpstream } from "../helpers/fake-upstream/server.ts";
import { type System, startSystem } from "../helpers/system.ts";

let folder: string;
let upstream: FakeUpstream;
let system: System;
let tenant: Tenant;

const SCRIPT = [{ reply: textReply(["pong"]) }];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "tributary-litellm-"));
  const texts = ["gpt-4o-mini", "claude-sonnet-4-5", "text-embedding-3-small", "embed-english-v3.0", "llama3.1", "nomic-embed-text"];
  upstream = await startFakeUpstream(Object.fromEntries(texts.map((model) => [model, SCRIPT])));
  const file = join(folder, "config.yaml");
  writeFileSync(file, configText(upstream.url));
  system = await startSystem({ env: { CONFIG: file } });
  tenant = await newTenant(system, { creditNano: 5_000_000_000 });
});

afterAll(async () => {
  await system.stop();
  await upstream.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** As a person has it for LiteLLM: no price is written anywhere. */
function configText(url: string): string {
  const entry = (name: string, model: string, base: string) =>
    `  - model_name: ${name}\n    litellm_params: {model: ${model}, api_base: "${url}/${base}", api_key: k}\n`;
  return [
    "model_list:\n",
    entry("gpt-4o-mini", "openai/gpt-4o-mini", "openai/v1"),
    entry("claude", "anthropic/claude-sonnet-4-5", "anthropic"),
    entry("small", "text-embedding-3-small", "openai/v1"),
    entry("tts", "openai/tts-1", "openai/v1"),
    entry("dall-e-3", "openai/dall-e-3", "openai/v1"),
    entry("gpt-image-1", "openai/gpt-image-1", "openai/v1"),
    entry("whisper-1", "openai/whisper-1", "openai/v1"),
    entry("embed", "cohere/embed-english-v3.0", "cohere"),
    entry("rerank", "cohere/rerank-v3.5", "cohere"),
    entry("llama", "ollama_chat/llama3.1", "ollama"),
    entry("nomic", "ollama/nomic-embed-text", "ollama"),
    entry("mystery", "openai/made-here-last-week", "openai/v1"),
    entry("openai/*", "openai/*", "openai/v1"),
  ].join("");
}

const post = (path: string, body: unknown) => call(system.url, "POST", path, { key: tenant.key, body });
const costNano = ({ headers }: Answer) => Number(headers.get("x-gw-cost-nano"));

test("every model of an unchanged LiteLLM configuration has a price, each in the unit that its provider sells", async () => {
  const { body } = await call(system.url, "GET", "/api/models?pageSize=100");
  const priced = Object.fromEntries(
    body.data.map(({ name, pricing }: { name: string; pricing: { unit: string; input: number; output: number } | null }) => [
      name,
      pricing && [pricing.unit, pricing.input, pricing.output],
    ]),
  );
  expect(priced).toMatchObject({
    "gpt-4o-mini": ["token", 150_000_000, 600_000_000],
    tts: ["character", 15_000_000_000, 0],
    "dall-e-3": ["image", 0, 40_000_000_000_000],
    "gpt-image-1": ["token", 5_000_000_000, 40_000_000_000],
    "whisper-1": ["millisecond", 100_000_000, 0],
    embed: ["token", 100_000_000, 0],
    rerank: ["search", 2_000_000_000_000, 0],
    llama: ["token", 0, 0],
    nomic: ["token", 0, 0],
    mystery: null,
  });
});

test("calls of those models are answered and billed at list prices; what runs on the operator's machines costs nothing", async () => {
  const form = new FormData();
  form.set("model", "whisper-1");
  form.set("file", new File([Buffer.alloc(4000)], "a.mp3", { type: "audio/mpeg" }));
  const transcribed = await fetch(`${system.url}/v1/audio/transcriptions`, {
    method: "POST",
    headers: { authorization: `Bearer ${tenant.key}` },
    body: form,
  });
  expect([transcribed.status, await transcribed.json()]).toEqual([200, expect.objectContaining({ text: "hello there" })]);
  // The provider says two seconds, at 0.006 USD a minute.
  expect(transcribed.headers.get("x-gw-cost-nano")).toBe("200000");

  const embedded = await post("/v1/embeddings", { model: "embed", input: ["one", "two"] });
  expect(embedded.status).toBe(200);
  // The provider says eight tokens, at 0.10 USD a million.
  expect(costNano(embedded)).toBe(800);

  const ranked = await post("/v1/rerank", { model: "rerank", query: "q", documents: ["a", "b"] });
  expect(ranked.status).toBe(200);
  // One search, at 2 USD a thousand.
  expect(costNano(ranked)).toBe(2_000_000);

  const chatted = await post("/v1/chat/completions", { model: "llama", messages: [{ role: "user", content: "ping" }] });
  expect([chatted.status, costNano(chatted)]).toEqual([200, 0]);
  const local = await post("/v1/embeddings", { model: "nomic", input: "one" });
  expect([local.status, costNano(local)]).toEqual([200, 0]);
});

test("every model of that configuration answers, and each call's cost in the log is its list price times what was used", async () => {
  const asks = [
    ["/v1/chat/completions", { model: "gpt-4o-mini", messages: [{ role: "user", content: "ping" }] }],
    ["/v1/chat/completions", { model: "claude", messages: [{ role: "user", content: "ping" }] }],
    ["/v1/embeddings", { model: "small", input: "one" }],
    ["/v1/audio/speech", { model: "tts", voice: "alloy", input: "twelve chars" }],
    ["/v1/images/generations", { model: "dall-e-3", prompt: "a cat" }],
    ["/v1/images/generations", { model: "gpt-image-1", prompt: "a cat" }],
  ] as const;
  for (const [path, body] of asks) {
    const response = await fetch(system.url + path, {
      method: "POST",
      headers: { authorization: `Bearer ${tenant.key}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    expect([body.model, response.status]).toEqual([body.model, 200]);
    await response.arrayBuffer();
    const logs = await call(system.url, "GET", `/api/gw/logs?model=${body.model}`, { token: tenant.token });
    const [row] = logs.body.data;
    const signed = await call(system.url, "GET", `/api/gw/logs/${row.id}/receipt`, { token: tenant.token });
    const lines = signed.body.lines as { amount: number; price: number }[];
    const sum = lines.reduce((total, { amount, price }) => total + BigInt(amount) * BigInt(price), 0n);
    expect([body.model, row.cost > 0, Number((sum + 999_999n) / 1_000_000n)]).toEqual([body.model, true, row.cost]);
  }
});

test("Ollama is asked for vectors of the length that the caller wants, also where parameters may be dropped", async () => {
  const short = await post("/v1/embeddings", { model: "nomic", input: "one", dimensions: 4, encoding_format: "float", drop_params: true });
  expect([short.status, short.body.data?.[0]?.embedding?.length]).toEqual([200, 4]);
});

test("a model under a wildcard is billed in the unit of its list price", async () => {
  const spoken = await fetch(`${system.url}/v1/audio/speech`, {
    method: "POST",
    headers: { authorization: `Bearer ${tenant.key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "openai/tts-1", voice: "alloy", input: "twelve chars" }),
  });
  expect(spoken.status).toBe(200);
  await spoken.arrayBuffer();
  const logs = await call(system.url, "GET", "/api/gw/logs?model=openai/tts-1", { token: tenant.token });
  // Twelve characters, at 15 USD a million.
  expect(logs.body.data[0]).toMatchObject({ status: "success", cost: 180_000 });
});

test("a model without a price is named at the start and refused by a call, both with the two ways to price it", async () => {
  const lines = system.logs().split("\n");
  const warnings = lines.filter((line) => line.includes("has no price"));
  expect(warnings).toHaveLength(1);
  expect(warnings[0]).toContain('"model":"mystery"');
  expect(warnings[0]).toContain("model_info.input_cost_per_token");
  expect(warnings[0]).toContain("/api/admin/models");
  const refused = await post("/v1/chat/completions", { model: "mystery", messages: [{ role: "user", content: "x" }] });
  expect(refused.status).toBe(400);
  expect(refused.body.error).toMatchObject({ param: "model", message: expect.stringContaining("model_info.input_cost_per_token") });
  expect(refused.body.error.message).toContain("/api/admin/models");
  expect(upstream.of("made-here-last-week")).toHaveLength(0);
});
