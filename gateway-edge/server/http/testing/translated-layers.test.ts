import { readNamedEvents } from "../../../calls/dialects/dialect-fixture.ts";
import type { Fields } from "../../../upstream/providers/provider.ts";
import { deployment } from "./edge-fixture.ts";
import { completion, frames, type LayeredEdge, type Reply, startLayered } from "./layered-edge-fixture.ts";

const opened: LayeredEdge[] = [];
afterAll(() => Promise.all(opened.map((edge) => edge.close())));

const thinking = { type: "thinking", thinking: "hm", signature: "sig" };
const claudeAnswer = {
  type: "message",
  content: [thinking, { type: "text", text: "ok" }],
  stop_reason: "end_turn",
  usage: { input_tokens: 1 },
};

async function open(settings: object, reply: Reply) {
  const claude = { modelName: "claude", providerKind: "anthropic", inferenceModelId: "claude-sonnet-4-5", apiKey: "up", params: "{}" };
  const layered = await startLayered(settings, reply, [deployment(claude)]);
  opened.push(layered);
  return layered;
}

const guard = (action: string) => ({
  guardrails: [
    {
      guardrail_name: "no-secrets",
      litellm_params: {
        guardrail: "regex",
        mode: ["pre_call", "post_call"],
        default_on: true,
        patterns: [{ name: "secret", pattern: "sesame-[0-9]+", action }],
      },
    },
  ],
});
const DIALECT_CALLS = [
  ["/v1/messages", (text: string) => ({ max_tokens: 9, messages: [{ role: "user", content: text }] })],
  ["/v1/responses", (text: string) => ({ input: text })],
] as const;

test.each(DIALECT_CALLS)("%s is no way around a guardrail", async (path, body) => {
  const blocked = await open(guard("block"), () => completion("fine"));
  const refused = await blocked.key()(path, { model: "gpt", ...body("open sesame-42") });
  expect([refused.status, blocked.sent.length, await refused.text()]).toEqual([400, 0, expect.stringContaining("no-secrets")]);
  const masked = await open(guard("mask"), () => completion("it is sesame-7"));
  const answered = await masked.key()(path, { model: "gpt", ...body("open sesame-42") });
  expect([answered.status, await answered.text()]).toEqual([200, expect.not.stringContaining("sesame-7")]);
  expect(JSON.stringify(masked.sent)).not.toContain("sesame-42");
  expect(JSON.stringify(masked.sent)).toContain("open ");
});

test("a request that a guardrail changed is still sent to each provider in its own format", async () => {
  const { key, sent } = await open(guard("mask"), () => completion("fine"));
  const content = [{ type: "text", text: "open sesame-42", cache_control: { type: "ephemeral" } }];
  await key()("/v1/messages", { model: "gpt", max_tokens: 9, messages: [{ role: "user", content }], context_management: { edits: [] } });
  expect(JSON.stringify(sent)).not.toMatch(/cache_control|context_management/);
});

test.each(DIALECT_CALLS)("%s serves a cached answer, whole and streamed, at no cost", async (path, body) => {
  const { key, sent, logs } = await open({ litellm_settings: { cache: true } }, ({ stream }) =>
    stream ? frames(["hi"]) : completion("hi"),
  );
  const post = key();
  for (const stream of [false, true, false]) {
    const response = await post(path, { model: "gpt", stream, ...body("hello") });
    expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('"hi"')]);
  }
  expect(sent).toHaveLength(1);
  expect(logs().map(({ cacheHit, cost }) => [cacheHit, cost > 0n])).toEqual([
    [false, true],
    [true, false],
    [true, false],
  ]);
});

test("a cached answer has its thinking in its place when it is streamed", async () => {
  const { key, sent } = await open({ litellm_settings: { cache: true } }, () => claudeAnswer);
  const post = key();
  const asked = {
    model: "claude",
    max_tokens: 4096,
    thinking: { type: "enabled", budget_tokens: 1024 },
    messages: [{ role: "user", content: "go" }],
  };
  expect(((await (await post("/v1/messages", asked)).json()) as Fields)["content"]).toEqual(claudeAnswer.content);
  const events = readNamedEvents(await (await post("/v1/messages", { ...asked, stream: true })).text());
  const blocks = events.filter(({ type }) => type === "content_block_start").map((event) => (event["content_block"] as Fields)["type"]);
  expect([blocks, sent.length]).toEqual([["thinking", "text"], 1]);
  expect(JSON.stringify(events)).toContain('"signature":"sig"');
});
