import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Answer, call, newTenant, type Tenant } from "../helpers/api.ts";
import { vectorOf } from "../helpers/fake-upstream/dialect.ts";
import { type Script, textReply } from "../helpers/fake-upstream/script.ts";
import { type FakeUpstream, startFakeUpstream } from "../helpers/fake-upstream/server.ts";
import { type System, startSystem } from "../helpers/system.ts";

const reply = { reply: textReply(["pong"]) };
const SCRIPTS: Readonly<Record<string, Script>> = {
  "gemini-embedding-001": [reply],
  "embed-english-v3.0": [reply],
  "embed-second-fails": [reply, { failure: "bad-request" }, reply],
  "embed-hangs": [{ hang: true }],
};

let folder: string;
let upstream: FakeUpstream;
let system: System;
let tenant: Tenant;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "tributary-batches-"));
  upstream = await startFakeUpstream(SCRIPTS);
  const entry = (name: string, model: string, base: string) =>
    `  - model_name: ${name}\n    litellm_params: {model: ${model}, api_base: "${upstream.url}/${base}", api_key: k, input_cost_per_token: 1e-7}\n`;
  const file = join(folder, "config.yaml");
  const entries = [
    entry("gemini", "gemini/gemini-embedding-001", "gemini"),
    entry("cohere", "cohere/embed-english-v3.0", "cohere"),
    entry("second-fails", "cohere/embed-second-fails", "cohere"),
    entry("hangs", "cohere/embed-hangs", "cohere"),
  ];
  writeFileSync(file, `model_list:\n${entries.join("")}`);
  system = await startSystem({ env: { CONFIG: file } });
  tenant = await newTenant(system, { creditNano: 5_000_000_000 });
});
afterAll(async () => {
  await system.stop();
  await upstream.stop();
  rmSync(folder, { recursive: true, force: true });
});

const inputs = (count: number) => Array.from({ length: count }, (_, index) => `input ${index}`);
const embed = (model: string, count: number): Promise<Answer> =>
  call(system.url, "POST", "/v1/embeddings", { key: tenant.key, body: { model, input: inputs(count) } });
const usageRows = async (model: string) =>
  (await call(system.url, "GET", `/api/gw/logs?model=${model}`, { token: tenant.token })).body.data;
const ledgerOf = async (callId: string) => {
  const { body } = await call(system.url, "GET", "/api/credits/ledger?pageSize=100", { token: tenant.token });
  return body.data.filter((entry: { callId: string | null }) => entry.callId === callId);
};

test.each([
  ["cohere", "embed-english-v3.0", [96, 96, 58], (body: { texts: string[] }) => body.texts],
  [
    "gemini",
    "gemini-embedding-001",
    [100, 100, 50],
    (body: { requests: { content: { parts: { text: string }[] } }[] }) => body.requests.map(({ content }) => content.parts[0]?.text),
  ],
] as const)(
  "250 inputs at %s go out in batches and come back as one answer, one bill, one row",
  async (model, upstreamModel, sizes, textsIn) => {
    const answer = await embed(model, 250);
    expect([answer.status, answer.body.data?.length]).toEqual([200, 250]);
    const seen = upstream.of(upstreamModel);
    const batches = seen.map(({ body }) => (textsIn as (body: unknown) => string[])(body));
    expect(batches.map(({ length }) => length).toSorted((left, right) => right - left)).toEqual(sizes);
    expect(new Set(batches.flat())).toEqual(new Set(inputs(250)));
    // Each vector tells its own input, whatever batch it was in; Gemini's are scaled to length 1.
    for (const [index, { embedding, index: place }] of answer.body.data.entries()) {
      const expected = vectorOf(index, 8);
      const length = model === "gemini" ? Math.hypot(...expected) : 1;
      expect(place).toBe(index);
      expect(embedding.map((value: number) => Math.round(value * 1e5))).toEqual(
        expected.map((value) => Math.round((value / length) * 1e5)),
      );
    }
    const tokens = answer.body.usage.prompt_tokens;
    if (model === "cohere") expect(tokens).toBe(4 * 250);
    const rows = await usageRows(model);
    expect(rows).toMatchObject([{ status: "success", cost: tokens * 100, usage: { input: tokens }, attempts: 1 }]);
    expect(await ledgerOf(rows[0].callId)).toMatchObject([{ type: "usage", amount: -tokens * 100 }]);
  },
);

test("a batch that fails fails the whole call, and nothing is billed", async () => {
  const answer = await embed("second-fails", 250);
  expect(answer.status).toBe(400);
  expect(answer.body.error.message).toContain("temperature");
  expect(upstream.of("embed-second-fails").length).toBeGreaterThan(1);
  const rows = await usageRows("second-fails");
  expect(rows).toMatchObject([{ status: "error", cost: 0 }]);
  expect(await ledgerOf(rows[0].callId)).toEqual([]);
});

test("a client that leaves aborts every batch that is under way, and no further one begins", async () => {
  const leaving = new AbortController();
  const asked = fetch(`${system.url}/v1/embeddings`, {
    method: "POST",
    headers: { authorization: `Bearer ${tenant.key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "hangs", input: inputs(600) }),
    signal: leaving.signal,
  });
  asked.catch(() => {});
  const under = () => upstream.of("embed-hangs");
  await until(() => under().length === 4);
  leaving.abort();
  await until(() => under().every(({ abortedAt }) => abortedAt !== undefined));
  await expect(asked).rejects.toThrow();
  expect(under()).toHaveLength(4);
});

test("transform_request shows the first batch as it is sent", async () => {
  const body = { call_type: "embedding", request_body: { model: "cohere", input: inputs(250) } };
  const shown = await call(system.url, "POST", "/utils/transform_request", { key: tenant.key, body });
  expect([shown.status, shown.body.raw_request_body?.texts?.length]).toEqual([200, 96]);
});

async function until(holds: () => boolean): Promise<void> {
  const deadline = Date.now() + 10_000;
  while (!holds()) {
    if (Date.now() > deadline) throw new Error("what was waited for did not come");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
