import { setTimeout as delay } from "node:timers/promises";
import { cost } from "../../../credit/pricing/price.ts";
import { NO_USAGE } from "../../../credit/pricing/usage.ts";
import type { Send } from "../../../upstream/providers/provider.ts";
import { FakeControl, parseStream, startEdge, type TestEdge } from "./edge-fixture.ts";

const PRICES = { input: 1_000_000_000n, output: 2_000_000_000n };
const priced = (prompt: number, completion: number) => cost({ ...NO_USAGE, input: prompt, output: completion }, PRICES);
const WORDS = 400;

const edges: TestEdge[] = [];
afterEach(async () => {
  for (const edge of edges.splice(0)) await edge.close();
});

/** An upstream that takes no notice of max_tokens; each word is one token. */
function wordSend(atWord: (word: number) => void | Promise<void> = () => {}) {
  const seen = { aborted: false, sent: 0, maxTokens: undefined as number | undefined };
  const send: Send = async (request, signal) => {
    const body = JSON.parse(String(request.body)) as { max_tokens?: number; max_completion_tokens?: number };
    seen.maxTokens = body.max_completion_tokens ?? body.max_tokens;
    signal.addEventListener("abort", () => {
      seen.aborted = true;
    });
    const frame = (delta: object, reason: string | null = null) =>
      Buffer.from(`data: ${JSON.stringify({ choices: [{ index: 0, delta, text: "go ", finish_reason: reason }] })}\n\n`);
    async function* speak() {
      for (; seen.sent < WORDS && !signal.aborted; seen.sent++) {
        await atWord(seen.sent);
        yield frame({ content: "go " });
        await delay(0);
      }
      if (signal.aborted) return;
      yield frame({}, "stop");
      yield Buffer.from("data: [DONE]\n\n");
    }
    return { status: 200, headers: { "content-type": "text/event-stream" }, body: speak() };
  };
  return { seen, send };
}

async function open({ balance, atWord }: { balance: bigint; atWord?: (word: number, control: FakeControl) => void | Promise<void> }) {
  const control = new FakeControl();
  const upstream = wordSend((word) => atWord?.(word, control));
  const edge = await startEdge(control, { send: upstream.send });
  edges.push(edge);
  control.balance = balance;
  const { secret } = control.addKey();
  return { edge, control, seen: upstream.seen, auth: { authorization: `Bearer ${secret}` } };
}

const MESSAGES = [{ role: "user", content: "say go" }];
const DETAILS = { type: "credits_used_up", message: expect.stringContaining("credits") };

const parseEvents = (text: string) =>
  [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data ?? "") as Record<string, unknown>);

const DIALECTS = [
  {
    path: "/v1/chat/completions",
    body: { messages: MESSAGES, stream_options: { include_usage: true } },
    end: (events: Record<string, unknown>[]) => {
      expect(events.at(-2)).toMatchObject({ choices: [{ delta: {}, finish_reason: "length", finish_details: DETAILS }] });
      return events.at(-1)?.["usage"] as Record<string, number>;
    },
    output: "completion_tokens",
    isDone: true,
  },
  {
    path: "/v1/completions",
    body: { prompt: "say go", stream_options: { include_usage: true } },
    end: (events: Record<string, unknown>[]) => {
      expect(events.at(-2)).toMatchObject({ choices: [{ text: "", finish_reason: "length", finish_details: DETAILS }] });
      return events.at(-1)?.["usage"] as Record<string, number>;
    },
    output: "completion_tokens",
    isDone: true,
  },
  {
    path: "/v1/responses",
    body: { input: "say go" },
    end: (events: Record<string, unknown>[]) => {
      const { type, response } = events.at(-1) as { type: string; response: Record<string, unknown> };
      expect(type).toBe("response.incomplete");
      expect(response).toMatchObject({ status: "incomplete", incomplete_details: { reason: "max_output_tokens", ...DETAILS } });
      return response["usage"] as Record<string, number>;
    },
    output: "output_tokens",
    isDone: false,
  },
  {
    path: "/v1/messages",
    body: { messages: MESSAGES, max_tokens: 1000 },
    end: (events: Record<string, unknown>[]) => {
      expect(events.at(-1)).toMatchObject({ type: "message_stop" });
      expect(events.at(-2)).toMatchObject({ type: "message_delta", delta: { stop_reason: "max_tokens", stop_details: DETAILS } });
      return events.at(-2)?.["usage"] as Record<string, number>;
    },
    output: "output_tokens",
    isDone: false,
  },
];

test.each(DIALECTS)(
  "$path: a stream whose credit ends in the middle ends well, with a reason, billed for what it delivered",
  async (dialect) => {
    // Prepare: enough for the prompt and a few words, far from what may be asked for.
    const { edge, control, seen, auth } = await open({ balance: priced(8, 40) });
    const response = await edge.post(dialect.path, { model: "echo", stream: true, ...dialect.body }, auth);
    const text = await response.text();
    expect(response.status).toBe(200);
    expect(text.endsWith("data: [DONE]\n\n")).toBe(dialect.isDone);
    const usage = dialect.end(dialect.isDone ? parseStream(text) : parseEvents(text));
    const [log] = control.settled.values();
    // Execute and assert: billed, cut off, and no balance below zero.
    expect(Number(log?.usage?.output)).toBe(usage[dialect.output]);
    expect(usage[dialect.output]).toBeGreaterThan(30);
    expect(usage[dialect.output]).toBeLessThan(45);
    expect([log?.status, log?.httpStatus, log?.errorCode]).toEqual(["success", 200, "QUOTA_EXCEEDED"]);
    expect(control.balance >= 0n).toBe(true);
    expect(seen.aborted).toBe(true);
    expect(seen.sent).toBeLessThan(WORDS);
  },
);

test("a purchase in mid-stream lets a short stream go on to its own end", async () => {
  const { edge, control, seen, auth } = await open({
    balance: priced(8, 40),
    atWord: (word, { balance }) => {
      if (word === 20) control.balance = balance + priced(0, 5000);
    },
  });
  const response = await edge.post("/v1/chat/completions", { model: "echo", stream: true, messages: MESSAGES }, auth);
  const frames = parseStream(await response.text());
  const [log] = control.settled.values();
  expect(frames.at(-1)).toMatchObject({ choices: [{ finish_reason: "stop" }] });
  expect(JSON.stringify(frames.at(-1))).not.toContain("finish_details");
  expect([seen.sent, log?.status, log?.errorCode]).toEqual([WORDS, "success", undefined]);
  // What was set aside in slices is spent or free again, nothing else.
  const lease = control.leases.get("org_1");
  expect(lease && lease.granted - lease.settled - lease.released >= 0n).toBe(true);
});

test("each choice of a short stream gets its end", async () => {
  const { edge, auth } = await open({ balance: priced(8, 10) });
  const response = await edge.post("/v1/chat/completions", { model: "echo", stream: true, n: 3, messages: MESSAGES }, auth);
  const ends = parseStream(await response.text()).flatMap(({ choices }) => choices as { index: number; finish_reason: string | null }[]);
  expect(ends.filter(({ finish_reason: reason }) => reason !== null).map(({ index, finish_reason: reason }) => [index, reason])).toEqual([
    [0, "length"],
    [1, "length"],
    [2, "length"],
  ]);
});

test("a whole answer that finds little credit is asked for as much as it pays for", async () => {
  const control = new FakeControl();
  const edge = await startEdge(control);
  edges.push(edge);
  control.balance = priced(4, 2);
  const { secret } = control.addKey();
  const body = { model: "echo", messages: [{ role: "user", content: "one two three four" }] };
  const answer = (await (await edge.post("/v1/chat/completions", body, { authorization: `Bearer ${secret}` })).json()) as object;
  expect(answer).toMatchObject({ choices: [{ finish_reason: "length" }], usage: { completion_tokens: 2 } });
  expect(control.balance).toBe(0n);
});
