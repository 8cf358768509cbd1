import { countTokens as countByO200k } from "gpt-tokenizer/encoding/o200k_base";
import { systemClock } from "../../../common/clock.ts";
import { Caller, Deployment } from "../../../proto/gen/tributary/access/v1/access.ts";
import { openai } from "../../upstream/providers/openai/provider.ts";
import { vocabularyOf } from "../tokens/token-counter.ts";
import { chatJob } from "./jobs/chat.ts";
import { createMeter } from "./meter.ts";

const TEXT = "The journal's notes are what a process that dies leaves behind: they count by the vocabulary, never by bytes. ".repeat(20);

function meterOf() {
  const job = chatJob({ model: "m", stream: true, messages: [{ role: "user", content: "Say it." }] });
  const caller = Caller.fromPartial({});
  const meter = createMeter(
    { callId: "call_1", endpoint: "/v1/chat/completions", caller, job, inputTokens: 8, maxOutputTokens: 4096 },
    systemClock,
  );
  const deployment = Deployment.fromPartial({ providerKind: "openai", inferenceModelId: "gpt-4o", params: "{}", info: "{}" });
  meter.servedBy({ attempt: { deployment, group: "m", isFallback: false }, provider: openai }, { retries: 0, fallbacks: 0 });
  return meter;
}

test("what the journal notes of a stream is its tokens by vocabulary, and before the vocabulary is there fewer, never more", async () => {
  const words = TEXT.split(/(?= )/);
  const notedBy = () => {
    const meter = meterOf();
    let said = "";
    return words.flatMap((text) => {
      meter.delivered({ type: "text-delta", choice: 0, text });
      said += text;
      const progress = meter.progress();
      return progress ? [{ noted: progress.usage.output, exact: countByO200k(said), input: progress.usage.input }] : [];
    });
  };
  // Before the vocabulary is loaded: every piece of the text counts as one token.
  const early = notedBy();
  expect(early.length).toBeGreaterThan(3);
  for (const { noted, exact } of early) {
    expect(noted).toBeLessThanOrEqual(exact);
    expect(noted).toBeGreaterThan(exact * 0.8);
  }
  await vocabularyOf("o200k_base");
  for (const { noted, exact, input } of notedBy()) {
    expect(noted).toBe(exact);
    // A token for four bytes in place of the reservation's three.
    expect(input).toBe(6);
  }
});

test("what never left the gateway is not billed where the gateway counts, and is where the provider does", async () => {
  await vocabularyOf("o200k_base");
  const meter = meterOf();
  meter.delivered({ type: "text-delta", choice: 0, text: TEXT });
  const tokens = countByO200k(TEXT);
  expect((await meter.bill()).usage.output).toBe(tokens);
  expect((await meter.bill(0.25)).usage.output).toBe(Math.ceil(tokens * 0.75));
  const said = { cachedTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 };
  meter.reported({ ...said, promptTokens: 8, completionTokens: 40 });
  expect((await meter.bill(0.25)).usage.output).toBe(40);
});

test("a report without the prompt is billed with the gateway's count of the prompt, as an estimate", async () => {
  const meter = meterOf();
  meter.delivered({ type: "text-delta", choice: 0, text: "A dog." });
  meter.reported({ promptTokens: 0, cachedTokens: 0, cacheWriteTokens: 0, completionTokens: 90, reasoningTokens: 67, lacksPrompt: true });
  const { usage } = await meter.bill();
  expect(usage).toMatchObject({ output: 23, reasoning: 67, source: "estimated" });
  expect(usage.input).toBeGreaterThan(2);
});
