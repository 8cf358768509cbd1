import fc from "fast-check";
import { countTokens as countByCl100k } from "gpt-tokenizer/encoding/cl100k_base";
import { countTokens as countByO200k } from "gpt-tokenizer/encoding/o200k_base";
import { splitTokens } from "../../../upstream/providers/echo/tokens.ts";
import type { Send } from "../../../upstream/providers/provider.ts";
import { deployment, FakeControl, startEdge, type TestEdge } from "../testing/edge-fixture.ts";

/** The model, and how its tokens are counted, by other code than the gateway's where there is any. */
const VOCABULARIES = [
  { model: "o200k", providerKind: "openai", inferenceModelId: "gpt-4o", count: countByO200k },
  { model: "cl100k", providerKind: "openai", inferenceModelId: "gpt-4", count: countByCl100k },
  { model: "bytes", providerKind: "tributary", inferenceModelId: "t", count: (text: string) => Buffer.byteLength(text) },
  { model: "words", providerKind: "echo", inferenceModelId: "echo-1", count: (text: string) => splitTokens(text).length },
] as const;

const SCRIPTS = [
  "Every press of “Stop” costs what was read, not a third more: that's 1,234 tokens, isn't it? 🙂 ",
  "Каждое нажатие «Стоп» стоит ровно столько, сколько было прочитано, и ни копейкой больше. ",
  "停止を押しても、届いた分だけが請求されます。三分の一も多くは払いません。没有多收一分钱。",
  "كل ضغطة على زر الإيقاف تكلف ما قُرئ فقط، ولا شيء أكثر من ذلك. ",
  "रोकने पर केवल उतना ही शुल्क लगता है जितना पढ़ा गया, उससे अधिक नहीं। ",
] as const;

const STREAMS = 1000;
const AT_ONCE = 25;

interface Broken {
  readonly vocabulary: (typeof VOCABULARIES)[number];
  readonly text: string;
  /** Lengths of the pieces, in characters; the stream ends after the last. */
  readonly pieces: readonly number[];
  /** Who ends it. */
  readonly by: "client" | "upstream";
}

const cases: fc.Arbitrary<Broken> = fc.record({
  vocabulary: fc.constantFrom(...VOCABULARIES),
  text: fc
    .tuple(fc.constantFrom(...SCRIPTS), fc.constantFrom(...SCRIPTS), fc.nat(60))
    .map(([one, other, from]) => (one + other).slice(from)),
  pieces: fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 40 }),
  by: fc.constantFrom("client", "upstream"),
});

/** Whole characters, so that a piece is what a provider would send. */
function piecesOf({ text, pieces }: Broken): string[] {
  const characters = [...text];
  return pieces.map((length) => characters.splice(0, length).join("")).filter((piece) => piece !== "");
}

const chunk = (content: string) => `data: ${JSON.stringify({ id: "c", choices: [{ index: 0, delta: { content } }] })}\n\n`;

/** Sends the pieces of the stream that the request names, and then breaks, or says nothing until its caller leaves. */
const sendBroken =
  (streams: readonly Broken[]): Send =>
  async ({ body }, signal) => {
    const index = Number(/stream (\d+)/.exec(String(body))?.[1]);
    const stream = streams[index] as Broken;
    return {
      status: 200,
      headers: {},
      body: (async function* () {
        for (const piece of piecesOf(stream)) yield Buffer.from(chunk(piece));
        if (stream.by === "client")
          await new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
        throw Object.assign(new Error("reset"), { code: "ECONNRESET" });
      })(),
    };
  };

let edge: TestEdge;
afterAll(() => edge.close());

/** Reads until the pieces are there, then leaves or waits for the end. Returns the call's id and the text that arrived. */
async function read(index: number, stream: Broken, secret: string): Promise<{ callId: string; text: string }> {
  const client = new AbortController();
  const response = await fetch(`${edge.url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
    body: JSON.stringify({
      model: stream.vocabulary.model,
      stream: true,
      num_retries: 0,
      max_tokens: 4000,
      messages: [{ role: "user", content: `stream ${index}` }],
    }),
    signal: client.signal,
  });
  const expected = piecesOf(stream).join("");
  let [raw, text] = ["", ""];
  const decoder = new TextDecoder();
  try {
    for await (const bytes of response.body ?? []) {
      raw += decoder.decode(bytes as Uint8Array, { stream: true });
      text = textIn(raw);
      if (stream.by === "client" && text === expected) client.abort();
    }
  } catch (error) {
    if (!client.signal.aborted) throw error;
  }
  return { callId: String(response.headers.get("x-gw-call-id")), text };
}

function textIn(raw: string): string {
  const events = raw
    .split("\n\n")
    .slice(0, -1)
    .filter((event) => event.startsWith("data: {"));
  const contents = events.map(
    (event) => (JSON.parse(event.slice(6)) as { choices?: { delta?: { content?: string } }[] }).choices?.[0]?.delta?.content,
  );
  return contents.join("");
}

test("1,000 streams that break or are canceled at random points are billed for exactly the tokens of the delivered text", async () => {
  const streams = fc.sample(cases, { numRuns: STREAMS, seed: 22 });
  const control = new FakeControl();
  control.balance = 10n ** 15n;
  control.settings = JSON.stringify({ router_settings: { disable_cooldowns: true } });
  control.deployments = VOCABULARIES.map(({ model, providerKind, inferenceModelId }) =>
    deployment({ modelName: model, providerKind, inferenceModelId, baseUrl: "http://up/v1", apiKey: "up", params: "{}" }),
  );
  edge = await startEdge(control, { send: sendBroken(streams) });
  const { secret } = control.addKey();
  const billed: Promise<void>[] = [];
  let next = 0;
  const work = async () => {
    while (next < streams.length) {
      const index = next++;
      const stream = streams[index] as Broken;
      const { callId, text } = await read(index, stream, secret);
      expect(text).toBe(piecesOf(stream).join(""));
      const row = await settledRow(control, callId);
      const output = BigInt(stream.vocabulary.count(text));
      expect({ index, by: stream.by, output: row.usage?.output }).toEqual({ index, by: stream.by, output });
      expect(row.cost).toBe((row.usage?.input ?? 0n) * 1000n + output * 2000n);
      expect(row.status).toBe(stream.by === "client" ? "cancelled" : "error");
    }
  };
  for (let worker = 0; worker < AT_ONCE; worker++) billed.push(work());
  await Promise.all(billed);
  expect(control.settled.size).toBe(STREAMS);
  const seen = new Set(streams.map(({ vocabulary, by }) => `${vocabulary.model} ${by}`));
  expect(seen.size).toBe(2 * VOCABULARIES.length);
}, 60_000);

/** The edge notices a client that left a moment later. */
async function settledRow(control: FakeControl, callId: string) {
  for (;;) {
    const row = control.settled.get(callId);
    if (row) return row;
    await new Promise((resolve) => setImmediate(resolve));
  }
}
