import fc from "fast-check";
import { countTokens as countByCl100k } from "gpt-tokenizer/encoding/cl100k_base";
import { countTokens as countByO200k } from "gpt-tokenizer/encoding/o200k_base";
import { countTokens, encodingOf } from "./token-counter.ts";

const AS_TEXT = { disallowedSpecial: new Set<string>() };

test("the vocabulary follows the model: cl100k for gpt-4 and gpt-3.5, o200k for later and unknown ones", () => {
  const old = ["gpt-4", "gpt-4-turbo", "gpt-4-0613", "openai/gpt-4", "gpt-3.5-turbo", "azure/gpt-35-turbo", "text-embedding-3-small"];
  const newer = ["gpt-4o", "gpt-4o-mini", "gpt-4.1", "gpt-5", "o3", "claude-sonnet-4", "whatever", "openai/gpt-4o"];
  expect(old.map(encodingOf)).toEqual(old.map(() => "cl100k_base"));
  expect(newer.map(encodingOf)).toEqual(newer.map(() => "o200k_base"));
});

test("a prompt counts as by the reference, whatever is in it", async () => {
  const bits = fc.constantFrom(
    "a",
    "the ",
    "Hello",
    "\n",
    "  ",
    "é",
    "日本",
    "🙂",
    "\ud83d",
    "'s",
    "123",
    "!!",
    "<|endoftext|>",
    "\r\n",
    "A",
    "//",
  );
  const text = fc.oneof(
    fc.string({ unit: "grapheme" }),
    fc.array(bits, { maxLength: 60 }).map((parts) => parts.join("")),
  );
  await fc.assert(
    fc.asyncProperty(text, async (prompt) => {
      expect(await countTokens("gpt-4o", { prompt })).toBe(countByO200k(prompt, AS_TEXT));
      expect(await countTokens("gpt-4", { prompt })).toBe(countByCl100k(prompt, AS_TEXT));
    }),
    { numRuns: 200 },
  );
});

test("known counts of OpenAI's tokenizer", async () => {
  expect(await countTokens("gpt-4o", { prompt: "hello world" })).toBe(2);
  expect(await countTokens("gpt-4", { prompt: "antidisestablishmentarianism" })).toBe(6);
  expect(await countTokens("gpt-4o", { prompt: "" })).toBe(0);
});

/** Processor time of the best of three: what is measured is the work, not how busy the machine is. */
async function bestMs(prompt: string): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  for (let run = 0; run < 3; run++) {
    const before = process.cpuUsage();
    expect(await countTokens("gpt-4o", { prompt })).toBeGreaterThan(0);
    const { user, system } = process.cpuUsage(before);
    best = Math.min(best, (user + system) / 1000);
  }
  return best;
}

test.each(["a", " ", "あ", "\n", "!", "A"])(
  "200,000 times %j takes less than a second, or as much longer than 20,000 times as it is longer",
  async (letter) => {
    await countTokens("gpt-4o", { prompt: "the vocabulary is loaded" });
    const [tenthMs, wholeMs] = [await bestMs(letter.repeat(20_000)), await bestMs(letter.repeat(200_000))];
    // On a slow machine a second is too short; work that grows with the square of the length takes a hundred times as long as a tenth of it.
    expect(wholeMs).toBeLessThan(Math.max(1000, 20 * tenthMs));
  },
);

test("200,000 letters are 25,000 tokens", async () => {
  expect(await countTokens("gpt-4o", { prompt: "a".repeat(200_000) })).toBe(25_000);
});

test("messages count by OpenAI's recipe: three for each, one for a name, three for the answer's start", async () => {
  // The example of OpenAI's cookbook, with the count that its API gave.
  const messages = [
    {
      role: "system",
      content: "You are a helpful, pattern-following assistant that translates corporate jargon into plain English.",
    },
    { role: "system", name: "example_user", content: "New synergies will help drive top-line growth." },
    { role: "system", name: "example_assistant", content: "Things working well together will increase revenue." },
    {
      role: "system",
      name: "example_user",
      content: "Let's circle back when we have more bandwidth to touch base on opportunities for increased leverage.",
    },
    { role: "system", name: "example_assistant", content: "Let's talk later when we're less busy about how to do better." },
    {
      role: "user",
      content: "This late pivot means we don't have time to boil the ocean for the client deliverable.",
    },
  ];
  expect(await countTokens("gpt-4", { messages })).toBe(129);
  expect(await countTokens("gpt-4o", { messages })).toBe(124);
});

test("parts, tools and other providers' words count; the data of an image does not", async () => {
  const text = await countTokens("gpt-4o", { messages: [{ role: "user", content: "hello world" }] });
  expect(await countTokens("gpt-4o", { messages: [{ role: "user", content: [{ type: "text", text: "hello world" }] }] })).toBe(text);
  expect(await countTokens("gpt-4o", { contents: [{ role: "user", parts: [{ text: "hello world" }] }] })).toBe(text);
  const image = { type: "image_url", image_url: { url: `data:image/png;base64,${"A".repeat(10_000)}` } };
  const withImage = [{ role: "user", content: [{ type: "text", text: "hello world" }, image] }];
  expect(await countTokens("gpt-4o", { messages: withImage })).toBe(text + 85);
  const tools = [{ type: "function", function: { name: "get_weather" } }];
  expect(await countTokens("gpt-4o", { messages: [{ role: "user", content: "hello world" }], system: "Be brief.", tools })).toBeGreaterThan(
    text + 5,
  );
});
