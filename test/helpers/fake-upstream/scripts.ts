import { type Piece, type Reply, type Script, textReply } from "./script.ts";

export const POEM = Array.from({ length: 20 }, (_, index) => `word${index} `);
export const UNICODE = "Grüße, 世界 🌍👩‍👩‍👧 — naïve ₿";
export const LONG_STREAM = Array.from({ length: 200 }, (_, index) => `${index},`);
/** 96 MB, for slow readers: more than the buffers of two connections can hold (4 MB to send, 32 MB received, each). */
const FLOOD = new Array<string>(12_000).fill("x".repeat(8_000));

const weather = (id: string, city: string): Piece => ({
  type: "tool",
  id,
  name: "get_weather",
  fragments: ['{"ci', 'ty":', `"${city}"}`],
  signature: "c2lnbmF0dXJlLW9mLWdlbWluaQ==",
});
const calls = (pieces: readonly Piece[]): Reply => ({ pieces, finish: "tool_calls", usage: { input: 20, output: 9 } });
const SEVEN_DEGREES = textReply(["It is ", "7 degrees."], { input: 30, output: 5 });
const PONG = textReply(["pong"]);
const THREE_WORDS = textReply(["one ", "two ", "three ", "four "], { input: 7, output: 4 });

/** Scripts by model name; see `scriptName`. */
export const SCRIPTS: Readonly<Record<string, Script>> = {
  pong: [{ reply: PONG }],
  other: [{ reply: textReply(["from the fallback"]) }],
  poem: [{ reply: textReply(POEM, { input: 11, output: 20 }) }],
  unicode: [{ reply: textReply([UNICODE.slice(0, 9), UNICODE.slice(9)]), splitBytes: 1 }],
  "split-1": [{ reply: textReply(POEM), splitBytes: 1 }],
  "split-7": [{ reply: textReply(POEM), splitBytes: 7 }],
  "split-tools": [{ reply: calls([{ type: "text", text: "Let me look." }, weather("call_1", "Oslo")]), splitBytes: 1 }],
  long: [{ reply: textReply(LONG_STREAM) }],
  flood: [{ reply: textReply(FLOOD) }],
  drip: [{ reply: textReply(LONG_STREAM), betweenMs: 25 }],
  "two-blocks": [{ reply: textReply(["a", "b"]) }],
  tools: [{ reply: calls([weather("call_weather_1", "Oslo")]), afterToolResult: SEVEN_DEGREES }],
  "two-tools": [
    {
      reply: calls([{ type: "text", text: "Let me look." }, weather("call_two_1", "Oslo"), weather("call_two_2", "Rome")]),
      afterToolResult: SEVEN_DEGREES,
    },
  ],
  "no-arguments": [{ reply: calls([{ type: "tool", id: "call_time_1", name: "get_time", fragments: [] }]) }],
  json: [{ reply: textReply(['{"name":"Oslo",', '"people":717710}'], { input: 12, output: 8 }), asForcedTool: true }],
  thinking: [
    {
      reply: {
        pieces: [
          { type: "reasoning", text: "Let me ", signature: "c2lnbmVkLXRob3VnaHQ=" },
          { type: "reasoning", text: "think." },
          { type: "text", text: "42" },
        ],
        finish: "stop",
        usage: { input: 9, output: 6, reasoning: 4 },
      },
    },
  ],
  "cut-short": [{ reply: { pieces: [{ type: "text", text: "It is" }], finish: "length", usage: { input: 7, output: 256 } } }],
  filtered: [{ reply: { pieces: [{ type: "text", text: "I can" }], finish: "content_filter", usage: { input: 5, output: 2 } } }],
  malformed: [{ reply: { pieces: [], finish: "malformed", usage: { input: 5, output: 0 } } }],
  "usage-cache": [{ reply: textReply(["cached"], { input: 10, output: 5, cacheRead: 512, cacheWrite: 1733 }) }],
  "prompt-blocked": [
    { raw: { status: 200, body: { promptFeedback: { blockReason: "PROHIBITED_CONTENT" }, usageMetadata: { promptTokenCount: 4 } } } },
  ],
  "context-error": [{ failure: "context" }],
  "policy-error": [{ failure: "policy" }],
  "auth-error": [{ failure: "auth" }],
  "bad-request": [{ failure: "bad-request" }],
  "error-500": [{ failure: "server" }],
  "error-500-once": [{ failure: "server" }, { reply: PONG }],
  overloaded: [{ failure: "overloaded" }],
  "status-429": [{ failure: "rate-limit", extraHeaders: { "retry-after": "1" } }],
  "status-429-then-ok": [{ failure: "rate-limit", extraHeaders: { "retry-after": "1" } }, { reply: PONG }],
  hang: [{ hang: true }],
  reset: [{ reset: true }],
  "reset-after-3": [{ reply: THREE_WORDS, resetAfter: 3, betweenMs: 5 }],
  "cut-after-3": [{ reply: THREE_WORDS, endAfter: 3, betweenMs: 5 }],
  "error-after-3": [{ reply: THREE_WORDS, failAfter: { frames: 3, failure: "overloaded" }, betweenMs: 5 }],
  "first-event-error": [{ reply: PONG, failAfter: { frames: 0, failure: "overloaded" } }],
  "slow-first-token": [{ reply: textReply(["late ", "but ", "here"]), beforeFirstMs: 40_000 }],
  "slow-middle": [{ reply: textReply(["early ", "late"]), betweenMs: 16_500 }],
  "prompt-filter-first": [{ reply: THREE_WORDS, promptFilterFirst: true }],
};

/** The part of a model name after `--`, or the whole name: `claude-sonnet-4-5--tools` plays `tools` for an adapter that knows the model. */
export function scriptName(model: string): string {
  const mark = model.lastIndexOf("--");
  return mark < 0 ? model : model.slice(mark + 2);
}
