import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { CountedText, HELD_CHARACTERS_MAX } from "../../../calls/tokens/counted-text.ts";
import type { Send } from "../../../upstream/providers/provider.ts";
import { deployment, FakeControl, startEdge, type TestEdge } from "./edge-fixture.ts";

const MEGABYTE = 1024 * 1024;
const MAX_TOKENS = 2_000_000_000;
const STREAM_BYTES = 64 * MEGABYTE;
const WORDS = "one word after another, ".repeat(700);

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

const edges: TestEdge[] = [];
afterEach(async () => {
  for (const edge of edges.splice(0)) await edge.close();
});

/** An upstream that says 64 MB, then its usage. Looks at the heap near the beginning and near the end. */
function longSend(): { send: Send; heapBytes: number[] } {
  const heapBytes: number[] = [];
  const send: Send = async () => ({
    status: 200,
    headers: { "content-type": "text/event-stream" },
    body: (async function* () {
      const frame = (fields: object) => Buffer.from(`data: ${JSON.stringify(fields)}\n\n`);
      // In the fields of chat and of completions at once: each reads its own.
      const delta = frame({ choices: [{ index: 0, text: WORDS, delta: { content: WORDS }, finish_reason: null }] });
      const parts = Math.ceil(STREAM_BYTES / WORDS.length);
      for (let part = 0; part < parts; part++) {
        if (part === Math.floor(parts / 8) || part === parts - 1) {
          collectGarbage();
          heapBytes.push(process.memoryUsage().heapUsed);
        }
        yield delta;
      }
      yield frame({ choices: [{ index: 0, text: "", delta: {}, finish_reason: "stop" }] });
      yield frame({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 5, total_tokens: 8 } });
      yield Buffer.from("data: [DONE]\n\n");
    })(),
  });
  return { send, heapBytes };
}

async function readAll(response: Response): Promise<{ bytes: number; tail: string }> {
  let bytes = 0;
  let tail = "";
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    tail = (tail + Buffer.from(chunk).toString("latin1")).slice(-2000);
  }
  return { bytes, tail };
}

const originalAdd = CountedText.prototype.add;
const MESSAGES = [{ role: "user", content: "go" }];

test.each([
  { path: "/v1/chat/completions", body: { messages: MESSAGES } },
  { path: "/v1/completions", body: { prompt: "go" } },
  { path: "/v1/messages", body: { messages: MESSAGES } },
])(
  "$path: of a stream of 64 MB no more than a small part is in memory at any time",
  async ({ path, body }) => {
    // Prepare: what is held for the count is looked at with every piece. A spy of the test runner would hold every piece itself.
    let mostHeld = 0;
    CountedText.prototype.add = function addAndLook(this: CountedText, text: string) {
      originalAdd.call(this, text);
      mostHeld = Math.max(mostHeld, this.heldCharacters);
    };
    const { send, heapBytes } = longSend();
    const control = new FakeControl();
    // A model whose maximum is not known, and an agreed length that the stream stays within.
    const baseUrl = "http://upstream.test/v1";
    control.deployments = [
      deployment({ modelName: "long", providerKind: "openai", inferenceModelId: "long-x", baseUrl, apiKey: "up", params: "{}" }),
    ];
    control.balance = 10n ** 18n;
    const edge = await startEdge(control, { send });
    edges.push(edge);
    const { secret } = control.addKey();
    try {
      // Execute.
      const response = await edge.post(
        path,
        { model: "long", stream: true, max_tokens: MAX_TOKENS, ...body },
        { authorization: `Bearer ${secret}` },
      );
      const { bytes, tail } = await readAll(response);
      // Assert.
      expect(response.status).toBe(200);
      expect(bytes).toBeGreaterThan(STREAM_BYTES);
      expect(tail).toMatch(/\[DONE\]|message_stop/);
      expect(mostHeld).toBeGreaterThan(0);
      expect(mostHeld).toBeLessThanOrEqual(HELD_CHARACTERS_MAX);
      const [early = 0, late = 0] = heapBytes;
      expect((late - early) / MEGABYTE).toBeLessThan(16);
    } finally {
      CountedText.prototype.add = originalAdd;
    }
  },
  60_000,
);
