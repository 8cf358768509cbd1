import { type Bench, nodeClient, rawStream, startBench, user } from "./bench.ts";
import { python, testCases, testScript } from "./cases.ts";

// Apart from the other streams, because it takes its time: forty seconds in which nothing comes.
let bench: Bench;
/** Begun at once, so that both clients wait in the same forty seconds. */
let work: Promise<unknown>;

beforeAll(async () => {
  bench = await startBench();
  const raw = ["oai-slow-middle", "oai-slow-first-token"].map((model) => rawStream(bench, { model }));
  work = Promise.all([...raw, textOf("oai-slow-first-token"), textOf("oai-slow-middle")]);
  work.catch(() => {});
});
afterAll(() => bench?.stop());

async function textOf(model: string): Promise<string> {
  let text = "";
  const stream = await nodeClient(bench).openai.chat.completions.create({ model, messages: user("hi"), stream: true });
  for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? "";
  return text;
}

testScript({ client: "openai-python", ids: ["C8"], command: python("c8_silence.py"), bench: () => bench });

testCases(
  "openai-node",
  {
    C8: async () => {
      const [rawMiddle, rawFirst, first, middle] = (await work) as [{ text: string }, { text: string }, string, string];
      expect([first, middle]).toEqual(["late but here", "early late"]);
      // Between chunks, and before the first one, there are comments and nothing else.
      for (const { text } of [rawMiddle, rawFirst]) {
        const others = text.split("\n\n").filter((frame) => frame !== "" && !frame.startsWith("data: "));
        expect(others.length).toBeGreaterThan(0);
        expect(others.every((frame) => /^: [^\n]*$/.test(frame))).toBe(true);
      }
      expect(rawFirst.text.startsWith(": ")).toBe(true);
    },
  },
  60_000,
);
