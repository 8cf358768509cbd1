import { call } from "../../helpers/api.ts";
import { type Bench, nodeClient, startBench, user, WEATHER } from "./bench.ts";
import { python, testCases, testScript } from "./cases.ts";
import { CHAT_DIALECTS, groupOf, UPSTREAM_KEY, upstreamModel } from "./gateway-config.ts";

let bench: Bench;

beforeAll(async () => {
  bench = await startBench();
});
afterAll(() => bench?.stop());

const count = (body: object) => call(bench.system.url, "POST", "/utils/token_counter", { key: bench.key, body });

/** Counts of tiktoken, as its authors publish them in their cookbook. */
const TIKTOKEN = [
  { text: "antidisestablishmentarianism", "gpt-4": 6, "gpt-4o": 6 },
  { text: "2 + 2 = 4", "gpt-4": 7, "gpt-4o": 7 },
  { text: "お誕生日おめでとう", "gpt-4": 9, "gpt-4o": 8 },
  { text: "tiktoken is great!", "gpt-4": 6, "gpt-4o": 6 },
] as const;
const PATTERN = "You are a helpful, pattern-following assistant that translates corporate jargon into plain English.";
const COOKBOOK = [
  { role: "system", content: PATTERN },
  { role: "system", name: "example_user", content: "New synergies will help drive top-line growth." },
  { role: "system", name: "example_assistant", content: "Things working well together will increase revenue." },
  {
    role: "system",
    name: "example_user",
    content: "Let's circle back when we have more bandwidth to touch base on opportunities for increased leverage.",
  },
  { role: "system", name: "example_assistant", content: "Let's talk later when we're less busy about how to do better." },
  { role: "user", content: "This late pivot means we don't have time to boil the ocean for the client deliverable." },
];

testCases("curl", {
  U1: async () => {
    for (const { text, ...counts } of TIKTOKEN) {
      for (const [model, expected] of Object.entries(counts)) {
        const { status, body } = await count({ model, prompt: text });
        expect([status, model, text, body.total_tokens]).toEqual([200, model, text, expected]);
      }
    }
    expect((await count({ model: "gpt-4", messages: COOKBOOK })).body.total_tokens).toBe(129);
    expect((await count({ model: "gpt-4o", messages: COOKBOOK })).body.total_tokens).toBe(124);
  },
  U2: async () => {
    for (const prompt of ["before <|endoftext|> after", "a".repeat(200_000)]) {
      const startedAt = Date.now();
      const { status, body } = await count({ model: "gpt-4o", prompt });
      expect([status, body.total_tokens > 0]).toEqual([200, true]);
      expect(Date.now() - startedAt).toBeLessThan(1_000);
    }
  },
  U4: async () => {
    const ask = (model: string) =>
      call(bench.system.url, "GET", `/utils/supported_openai_params?model=${encodeURIComponent(model)}`, { key: bench.key });
    for (const dialect of CHAT_DIALECTS) {
      const { status, body } = await ask(dialect);
      const list: string[] = Array.isArray(body) ? body : body.supported_openai_params;
      expect([dialect, status, list.includes("max_tokens"), list.includes("tools")]).toEqual([dialect, 200, true, true]);
    }
    const unknown = await ask("no-such-model");
    expect(unknown.status).toBeGreaterThanOrEqual(400);
    expect(unknown.status).toBeLessThan(500);
    expect(unknown.body.error).toMatchObject({ message: expect.stringMatching(/./), type: expect.any(String) });
  },
  U5: async () => {
    for (const dialect of CHAT_DIALECTS) {
      const request = { model: groupOf(dialect, "tools"), messages: user("hi"), tools: [WEATHER], temperature: 0.5, max_tokens: 100 };
      const before = bench.fake.requests.length;
      const shown = await call(bench.system.url, "POST", "/utils/transform_request", {
        key: bench.key,
        body: { call_type: "completion", request_body: request },
      });
      expect([dialect, shown.status, bench.fake.requests.length]).toEqual([dialect, 200, before]);
      expect(shown.text).not.toContain(UPSTREAM_KEY);
      expect(shown.text).not.toContain("canary-aws-secret");
      await nodeClient(bench).openai.chat.completions.create(request);
      const sent = bench.fake.last(upstreamModel(dialect, "tools"));
      expect([dialect, shown.body.raw_request_body]).toEqual([dialect, sent.body]);
      // Only the master key sees addresses that the operator set.
      expect([dialect, shown.body.raw_request_api_base]).toEqual([dialect, sent.path.split("?")[0]]);
    }
  },
});

testScript({ client: "tiktoken", ids: ["U1"], command: python("u_tokens.py"), bench: () => bench });
