import { APIError, InternalServerError } from "openai";
import type { ChatCompletionChunk } from "openai/resources";
import { LONG_STREAM, POEM, UNICODE } from "../../helpers/fake-upstream/scripts.ts";
import { type Bench, logOf, nodeClient, rawStream, startBench, TIME, until, user, WEATHER } from "./bench.ts";
import { python, testCases, testScript } from "./cases.ts";
import { CHAT_DIALECTS, groupOf, upstreamModel } from "./gateway-config.ts";

let bench: Bench;

beforeAll(async () => {
  bench = await startBench();
});
afterAll(() => bench?.stop());

type Part = ChatCompletionChunk;

const open = (model: string, more: object = {}) =>
  nodeClient(bench).openai.chat.completions.create({ model, messages: user("hi"), ...more, stream: true });
async function collect(model: string, more: object = {}): Promise<Part[]> {
  const chunks: Part[] = [];
  for await (const chunk of await open(model, more)) chunks.push(chunk);
  return chunks;
}
const textOf = (chunks: readonly Part[], choice = 0) =>
  chunks.flatMap(({ choices }) => choices.filter(({ index }) => index === choice).map(({ delta }) => delta.content ?? "")).join("");
const helper = (model: string, more: object = {}) =>
  nodeClient(bench)
    .openai.chat.completions.stream({ model, messages: user("hi"), ...more })
    .finalChatCompletion();

/** Chunks until the stream fails, and how. */
async function untilFailure(model: string): Promise<{ chunks: Part[]; error: unknown }> {
  const chunks: Part[] = [];
  try {
    for await (const chunk of await open(model)) chunks.push(chunk);
  } catch (error) {
    return { chunks, error };
  }
  return { chunks, error: undefined };
}

async function expectTwoCalls(group: string): Promise<void> {
  const { choices } = await helper(group, { tools: [WEATHER] });
  const calls = choices[0]?.message.tool_calls ?? [];
  const made = calls.map((call) => (call.type === "function" ? [call.function.name, JSON.parse(call.function.arguments)] : []));
  expect([group, made]).toEqual([
    group,
    [
      ["get_weather", { city: "Oslo" }],
      ["get_weather", { city: "Rome" }],
    ],
  ]);
  expect(new Set(calls.map(({ id }) => id)).size).toBe(2);
  expect([choices[0]?.finish_reason, choices[0]?.message.content, choices[0]?.message.role]).toEqual([
    "tool_calls",
    "Let me look.",
    "assistant",
  ]);
}

/** What every stream that broke in the middle must look like. */
async function expectBroken(group: string): Promise<void> {
  const { chunks, error } = await untilFailure(group);
  expect([group, textOf(chunks)]).toEqual([group, "one two three "]);
  expect(error).toBeInstanceOf(APIError);
  expect(error).toMatchObject({ code: expect.any(String), type: expect.any(String), message: expect.stringMatching(/./) });
  expect(chunks.every(({ choices }) => choices.every(({ finish_reason }) => finish_reason === null))).toBe(true);
  const { text, status } = await rawStream(bench, { model: group });
  expect(status).toBe(200);
  expect(text).toMatch(/data: \{"error":\{.*\}\}\n\ndata: \[DONE\]\n\n$/);
}

testCases(
  "openai-node",
  {
    C1: async () => {
      for (const dialect of CHAT_DIALECTS) {
        const chunks: Part[] = [];
        let lastAt = 0;
        for await (const chunk of await open(groupOf(dialect, "poem"))) {
          chunks.push(chunk);
          lastAt = performance.now();
        }
        expect(performance.now() - lastAt).toBeLessThan(100);
        expect([dialect, textOf(chunks)]).toEqual([dialect, POEM.join("")]);
        expect(new Set(chunks.map(({ id }) => id)).size).toBe(1);
        expect(new Set(chunks.map(({ model }) => model))).toEqual(new Set([groupOf(dialect, "poem")]));
        expect(chunks.flatMap(({ choices }) => choices.flatMap(({ finish_reason }) => finish_reason ?? []))).toEqual(["stop"]);
      }
    },
    C2: async () => {
      for (const dialect of CHAT_DIALECTS) {
        const [choice] = (await helper(groupOf(dialect, "poem"))).choices;
        expect([dialect, choice?.message.role, choice?.message.content, choice?.finish_reason]).toEqual([
          dialect,
          "assistant",
          POEM.join(""),
          "stop",
        ]);
      }
    },
    C3: async () => {
      for (const dialect of ["oai", "anth"] as const) await expectTwoCalls(groupOf(dialect, "two-tools"));
    },
    C4: async () => {
      for (const dialect of ["bed", "gem", "coh", "oll", "mis", "azu"] as const) await expectTwoCalls(groupOf(dialect, "two-tools"));
    },
    C5: async () => {
      for (const group of ["anth-no-arguments", "bed-no-arguments"]) {
        const [call] = (await helper(group, { tools: [TIME] })).choices[0]?.message.tool_calls ?? [];
        expect([group, call?.type === "function" ? call.function.arguments : undefined]).toEqual([group, "{}"]);
      }
    },
    C7: async () => {
      const { data, response } = await nodeClient(bench)
        .openai.chat.completions.create({ model: "oai-poem", messages: user("hi"), stream: true })
        .withResponse();
      const chunks: Part[] = [];
      for await (const chunk of data) chunks.push(chunk);
      expect(chunks.filter(({ usage }) => usage)).toEqual([]);
      const { usage, cost, status } = await logOf(bench, response.headers.get("x-gw-call-id"));
      expect([usage.input, usage.output, usage.source, status]).toEqual([11, 20, "provider", "success"]);
      expect(cost).toBe(11 * 1_000 + 20 * 2_000);
      const withUsage = await collect("oai-poem", { stream_options: { include_usage: true } });
      expect(withUsage.filter((chunk) => chunk.usage)).toHaveLength(1);
      expect(withUsage.at(-1)).toMatchObject({ choices: [], usage: { prompt_tokens: 11, completion_tokens: 20, total_tokens: 31 } });
    },
    C10: async () => {
      for (const dialect of ["oai", "anth", "gem", "bed", "oll"] as const) await expectBroken(groupOf(dialect, "error-after-3"));
    },
    C11: async () => {
      for (const dialect of ["oai", "anth", "gem", "bed", "oll"] as const) await expectBroken(groupOf(dialect, "reset-after-3"));
    },
    C12: async () => {
      // Nor is a stream whole that ends cleanly, but before its dialect's own end.
      for (const dialect of ["oai", "anth", "gem", "bed", "oll", "coh", "mis"] as const)
        await expectBroken(groupOf(dialect, "cut-after-3"));
    },
    C13: async () => {
      const client = nodeClient(bench, { maxRetries: 0 });
      const failing = client.openai.chat.completions.create({ model: "oai-first-event-error", messages: user("hi"), stream: true });
      await expect(failing).rejects.toThrow(InternalServerError);
      expect(textOf(await collect("stream-guarded"))).toBe("from the fallback");
    },
    C14: async () => {
      const { data, response } = await nodeClient(bench)
        .openai.chat.completions.create({ model: "oai-drip", messages: user("hi"), stream: true })
        .withResponse();
      let seen = 0;
      for await (const chunk of data) if (chunk.choices[0]?.delta.content && ++seen === 2) break;
      const leftAt = Date.now();
      await until(() => bench.fake.last("drip").abortedAt !== undefined, 1_000);
      expect((bench.fake.last("drip").abortedAt ?? 0) - leftAt).toBeLessThan(1_000);
      const row = await logOf(bench, response.headers.get("x-gw-call-id"));
      expect(row.status).toBe("cancelled");
      expect(row.usage.output).toBeGreaterThanOrEqual(2);
      expect(row.cost).toBeGreaterThan(0);
    },
    C16: async () => {
      expect(textOf(await collect("oai-split-1"))).toBe(POEM.join(""));
      for (const dialect of ["oai", "anth", "gem", "bed", "coh", "oll"] as const) {
        expect([dialect, textOf(await collect(groupOf(dialect, "split-7")))]).toEqual([dialect, POEM.join("")]);
      }
      const [call] = (await helper("oai-split-tools", { tools: [WEATHER] })).choices[0]?.message.tool_calls ?? [];
      expect(call?.type === "function" ? JSON.parse(call.function.arguments) : undefined).toEqual({ city: "Oslo" });
    },
    C17: async () => {
      for (const dialect of ["oai", "anth", "gem", "bed", "coh", "mis", "oll"] as const) {
        expect([dialect, textOf(await collect(groupOf(dialect, "unicode")))]).toEqual([dialect, UNICODE]);
      }
    },
    C19: async () => {
      const { text } = await rawStream(bench, { model: "azu-prompt-filter-first" });
      const frames = [...text.matchAll(/^data: (\{.*)$/gm)].map(([, json = ""]) => JSON.parse(json));
      expect(frames.every(({ choices }) => Array.isArray(choices))).toBe(true);
      expect((await helper("azu-prompt-filter-first")).choices[0]?.message.content).toBe("one two three four ");
    },
    C20: async () => {
      for (const group of ["oai-thinking", "anth-budget", "gem-thinking", "bed-thinking", "oll-thinking"]) {
        const chunks = await collect(group);
        const thoughts = chunks.flatMap(({ choices }) => (choices[0]?.delta as { reasoning_content?: string })?.reasoning_content ?? []);
        expect([group, thoughts.filter((text) => text !== ""), textOf(chunks)]).toEqual([group, ["Let me ", "think."], "42"]);
      }
    },
    C22: async () => {
      const chunks = await collect("oai-poem", { n: 2 });
      expect(textOf(chunks, 0)).toBe(POEM.join(""));
      expect(textOf(chunks, 1)).toBe(POEM.map((word) => `${word}#1`).join(""));
      const finished = chunks.flatMap(({ choices }) => choices.filter(({ finish_reason }) => finish_reason).map(({ index }) => index));
      expect(finished.sort()).toEqual([0, 1]);
    },
    C28: async () => {
      const whole = LONG_STREAM.join("");
      const texts = await Promise.all(Array.from({ length: 200 }, async () => textOf(await collect("oai-long"))));
      expect(texts.filter((text) => text !== whole)).toEqual([]);
    },
    C29: async () => {
      const response = await fetch(`${bench.baseUrl}/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${bench.key}`, "content-type": "application/json" },
        body: JSON.stringify({ model: "oai-flood", messages: user("hi"), stream: true }),
      });
      // The client does not read: the upstream stops sending when the kernel's buffers on the way are full, far below its whole answer.
      let before = -1;
      await until(async () => {
        const since = before;
        before = bench.fake.last("flood").bytesSent;
        await new Promise((resolve) => setTimeout(resolve, 500));
        return since > 0 && before === since;
      }, 10_000);
      expect(before).toBeLessThan(80_000_000);
      await response.body?.cancel();
      await until(() => bench.fake.last("flood").abortedAt !== undefined, 2_000);
    },
  },
  60_000,
);

test("C-extra: a tool call from a stream has its id, type and name once and a dense index", async () => {
  for (const dialect of CHAT_DIALECTS) {
    const chunks = await collect(groupOf(dialect, "two-tools"), { tools: [WEATHER] });
    const deltas = chunks.flatMap(({ choices }) => choices.flatMap(({ delta }) => delta.tool_calls ?? []));
    expect([dialect, deltas.filter(({ id }) => id).map(({ index }) => index)]).toEqual([dialect, [0, 1]]);
    expect(deltas.filter(({ function: called }) => called?.name).map(({ index }) => index)).toEqual([0, 1]);
    expect(chunks.filter(({ choices }) => choices[0]?.delta.role)).toHaveLength(1);
    expect(bench.fake.last(upstreamModel(dialect, "two-tools")).ended).toBe(true);
  }
});

testScript({
  client: "openai-python",
  ids: ["C1", "C2", "C3", "C4", "C5", "C7", "C10", "C11", "C12", "C13", "C14", "C16", "C17", "C19", "C20", "C22", "C28", "C29"],
  command: python("c_stream.py"),
  bench: () => bench,
});
