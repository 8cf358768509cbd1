import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { silentLogger } from "../../../../common/logger.ts";
import { deployment, FakeControl, startEdge, type TestEdge } from "./edge-fixture.ts";

const PATH = "/v1/chat/completions";
const TEXT = "What an upstream says of its own usage is believed as far as it can be true.";
const OUTPUT = BigInt(countTokens(TEXT));

const edges: TestEdge[] = [];
afterEach(async () => {
  jest.restoreAllMocks();
  for (const edge of edges.splice(0)) await edge.close();
});

/** A provider that answers with one text, whole or as a stream, and says this of its usage. */
async function open(usage: string) {
  const control = new FakeControl();
  control.deployments.push({ ...deployment({ modelName: "m" }), id: "dep_m", providerKind: "openai", inferenceModelId: "gpt-4o" });
  const edge = await startEdge(control, {
    send: async ({ body }) => ({
      status: 200,
      headers: {},
      body: (async function* () {
        const choice = (said: object, reason: string | null) => JSON.stringify([{ index: 0, ...said, finish_reason: reason }]);
        if (!String(body).includes('"stream":true')) {
          yield Buffer.from(`{"choices":${choice({ message: { content: TEXT } }, "stop")},"usage":${usage}}`);
          return;
        }
        yield Buffer.from(`data: {"choices":${choice({ delta: { content: TEXT } }, null)}}\n\n`);
        yield Buffer.from(`data: {"choices":${choice({ delta: {} }, "stop")}}\n\ndata: {"choices":[],"usage":${usage}}\n\n`);
        yield Buffer.from("data: [DONE]\n\n");
      })(),
    }),
  });
  edges.push(edge);
  const warnings = jest.spyOn(silentLogger, "warn");
  const { secret } = control.addKey();
  const ask = async (fields: object) => {
    const body = { model: "m", messages: [{ role: "user", content: "Say it." }], max_tokens: 1000, ...fields };
    const response = await edge.post(PATH, body, { authorization: `Bearer ${secret}` });
    await response.text();
    return [...control.settled.values()].at(-1);
  };
  return { ask, warnings };
}

const usageOf = (prompt: string | number, completion: string | number) =>
  `{"prompt_tokens":${prompt},"completion_tokens":${completion},"total_tokens":1}`;

describe.each([{ stream: false }, { stream: true }])("stream: $stream", (fields) => {
  test.each([
    ["beyond every number", usageOf(9, 9e14)],
    ["beyond max_tokens", usageOf(9, 1100)],
    ["more input than was sent", usageOf(200_000, 9)],
    ["negative output", usageOf(9, -5)],
    ["negative input", usageOf(-9, 5)],
    ["fractions", usageOf(9, 5.5)],
    ["nothing at all", usageOf(0, 0)],
  ])("usage that cannot be true is not believed: %s", async (_why, usage) => {
    const { ask, warnings } = await open(usage);
    const row = await ask(fields);
    expect(row).toMatchObject({ status: "success", usage: { source: "estimated", output: OUTPUT, reasoning: 0n } });
    expect(row?.cost).toBeGreaterThan(0n);
    const logged = warnings.mock.calls.map(([detail]) => detail);
    if (usage === usageOf(0, 0)) expect(logged).toEqual([]);
    else expect(logged).toEqual([{ callId: row?.callId, deploymentId: "dep_m", reason: expect.any(String), reported: expect.any(Object) }]);
  });

  test("honest usage is the provider's word: reasoning within the limit, hidden prompts, a few tokens too many", async () => {
    for (const [prompt, completion] of [
      [4000, 990],
      [9, 1020],
      [1, 1],
    ] as const) {
      const { ask, warnings } = await open(usageOf(prompt, completion));
      const row = await ask(fields);
      expect(row).toMatchObject({ usage: { source: "provider", input: BigInt(prompt), output: BigInt(completion) } });
      expect(warnings).not.toHaveBeenCalled();
    }
  });

  test("a request whose provider reads more than was sent has no bound by its size", async () => {
    const parts = [
      { type: "text", text: "What is on it?" },
      { type: "image_url", image_url: { url: "https://images.example/large.png" } },
    ];
    const { ask } = await open(usageOf(400_000, 9));
    expect(await ask({ ...fields, messages: [{ role: "user", content: parts }] })).toMatchObject({
      usage: { source: "provider", input: 400_000n },
    });
  });
});
