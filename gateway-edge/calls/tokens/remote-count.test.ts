import { fakeClock } from "../../access/clock-fixture.ts";
import { deployment } from "../../server/http/testing/edge-fixture.ts";
import type { Send, UpstreamRequest } from "../../upstream/providers/provider.ts";
import { providers } from "../../upstream/providers/registry.ts";
import { countRemotely } from "./remote-count.ts";

const claude = deployment({ modelName: "m", providerKind: "anthropic", inferenceModelId: "claude-sonnet-4-5", apiKey: "k" });
const vertex = deployment({
  modelName: "v",
  providerKind: "vertex_ai",
  inferenceModelId: "gemini-2.5-pro",
  params: JSON.stringify({ vertex_project: "p", vertex_location: "global" }),
});
const asked = { messages: [{ role: "user", content: "hello" }] };
const tool = { type: "function", function: { name: "look", parameters: { type: "object", properties: { at: { type: "string" } } } } };

const hangs: Send = (_request, signal) =>
  new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(Object.assign(new Error("aborted"), { name: "AbortError" })));
  });

test("a provider that does not count within ten seconds is given up", async () => {
  const clock = fakeClock();
  const counting = countRemotely({ providers, send: hangs, clock }, { deployment: claude, asked, signal: new AbortController().signal });
  let isOver = false;
  void counting.then(() => {
    isOver = true;
  });
  await clock.advance(9_999);
  expect(isOver).toBe(false);
  await clock.advance(1);
  expect(await counting).toMatchObject({ type: "failed", error: { code: "UPSTREAM_TIMEOUT" }, upstreamStatus: undefined });
});

test("a client that leaves ends the question", async () => {
  const left = new AbortController();
  const counting = countRemotely({ providers, send: hangs, clock: fakeClock() }, { deployment: claude, asked, signal: left.signal });
  left.abort();
  expect(await counting).toMatchObject({ type: "failed", error: { code: "UPSTREAM_UNAVAILABLE" } });
});

async function requestOf(target: typeof claude, question: Parameters<typeof countRemotely>[1]["asked"]): Promise<UpstreamRequest> {
  const sent: UpstreamRequest[] = [];
  const send: Send = async (request) => {
    sent.push(request);
    throw Object.assign(new Error("none"), { code: "ECONNREFUSED" });
  };
  await countRemotely(
    { providers, send, clock: fakeClock() },
    { deployment: target, asked: question, signal: new AbortController().signal },
  );
  const [request] = sent;
  if (!request) throw new Error("nothing was sent");
  return request;
}

test("what is asked holds the conversation and its tools, and nothing of how to generate", async () => {
  const { url, body } = await requestOf(claude, { ...asked, system: "be brief", tools: [tool] });
  expect(url).toBe("https://api.anthropic.com/v1/messages/count_tokens");
  expect(JSON.parse(String(body))).toEqual({
    model: "claude-sonnet-4-5",
    system: [{ type: "text", text: "be brief" }],
    messages: [{ role: "user", content: [{ type: "text", text: "hello" }] }],
    tools: [{ name: "look", input_schema: tool.function.parameters }],
  });
  const google = await requestOf(vertex, { prompt: "hello" });
  expect(google.url).toBe(
    "https://aiplatform.googleapis.com/v1/projects/p/locations/global/publishers/google/models/gemini-2.5-pro:countTokens",
  );
  expect(JSON.parse(String(google.body))).toEqual({ contents: [{ role: "user", parts: [{ text: "hello" }] }] });
});

test("a provider without an endpoint is not asked", async () => {
  const echo = deployment({ modelName: "echo" });
  expect(
    await countRemotely({ providers, send: hangs, clock: fakeClock() }, { deployment: echo, asked, signal: new AbortController().signal }),
  ).toBeUndefined();
});
