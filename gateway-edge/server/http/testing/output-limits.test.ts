import type { Send } from "../../../upstream/providers/provider.ts";
import { deployment, FakeControl, startEdge, type TestEdge } from "./edge-fixture.ts";
import { answerOfEveryApi } from "./every-api-fixture.ts";

const INT32_MAX = 2_147_483_647;

const edges: TestEdge[] = [];
afterEach(async () => {
  for (const edge of edges.splice(0)) await edge.close();
});

const limited = (id: string, fields: { modelName: string; maxOutputTokens?: number | undefined }, kind = "openai") => {
  const base = deployment({ modelName: fields.modelName, id, providerKind: kind, inferenceModelId: `${fields.modelName}-of-ours` });
  return { ...base, model: base.model && { ...base.model, maxOutputTokens: fields.maxOutputTokens } };
};

const dearer = (given: ReturnType<typeof limited>) => {
  const pricing = given.model?.pricing && { ...given.model.pricing, output: 1_000_000_000_000n };
  return { ...given, model: given.model && { ...given.model, pricing } };
};

async function open({ settings = {} as object, isFull = false } = {}) {
  const control = new FakeControl();
  control.settings = JSON.stringify(settings);
  control.deployments = [
    ...control.deployments,
    limited("dep_gpt", { modelName: "gpt", maxOutputTokens: 1000 }),
    dearer(limited("dep_small", { modelName: "mixed", maxOutputTokens: 100 })),
    limited("dep_large", { modelName: "mixed", maxOutputTokens: 500 }),
    limited("dep_known", { modelName: "partly", maxOutputTokens: 100 }),
    limited("dep_unknown", { modelName: "partly" }),
    { ...limited("dep_listed", { modelName: "known" }), inferenceModelId: "gpt-4o" },
  ];
  const sent: { deployment: string; limit: number }[] = [];
  const send: Send = async ({ body }) => {
    const { max_tokens, max_completion_tokens, max_output_tokens, model } = JSON.parse(String(body)) as Record<string, number>;
    const limit = max_completion_tokens ?? max_tokens ?? max_output_tokens ?? 0;
    sent.push({ deployment: String(model), limit });
    return answerOfEveryApi({ input: 3, output: isFull ? limit : 1 });
  };
  const edge = await startEdge(control, { send }, { JSON_BODY_BYTES_MAX: "1000000" });
  edges.push(edge);
  const { secret } = control.addKey();
  return { control, sent, post: (path: string, body: object) => edge.post(path, body, { authorization: `Bearer ${secret}` }) };
}

const messages = [{ role: "user", content: "hi" }];

const FIELDS = [
  ["/v1/chat/completions", "max_tokens", { messages }],
  ["/v1/chat/completions", "max_completion_tokens", { messages, n: 2 }],
  ["/v1/completions", "max_tokens", { prompt: "hi" }],
  ["/v1/responses", "max_output_tokens", { input: "hi", store: false }],
  ["/v1/messages", "max_tokens", { messages }],
] as const;

describe.each(FIELDS)("%s %s", (path, field, body) => {
  test("more than the model's known maximum is a 400 that names the field and the maximum, and nothing is set aside or sent", async () => {
    const { control, sent, post } = await open();
    const response = await post(path, { model: "gpt", ...body, [field]: 1001 });
    const { error } = (await response.json()) as { error: { type: string; param?: string; message: string } };
    expect([response.status, error.type, error.message]).toEqual([400, "invalid_request_error", expect.stringContaining("1000")]);
    expect(error.message).toContain(field);
    if (path !== "/v1/messages") expect(error.param).toBe(field);
    expect([sent, control.intents]).toEqual([[], []]);
    expect((await post(path, { model: "gpt", ...body, [field]: 1000 })).status).toBe(200);
    expect(sent.at(-1)?.limit).toBe(1000);
  });

  test("with drop_params, of the request or of the configuration, it is lowered to the maximum", async () => {
    const { sent, post } = await open();
    expect((await post(path, { model: "gpt", ...body, [field]: 5000, drop_params: true })).status).toBe(200);
    const configured = await open({ settings: { litellm_settings: { drop_params: true } } });
    expect((await configured.post(path, { model: "gpt", ...body, [field]: 5000 })).status).toBe(200);
    expect([...sent, ...configured.sent].map(({ limit }) => limit)).toEqual([1000, 1000]);
  });

  test("a number that no model could mean is refused before it is priced", async () => {
    const { control, post } = await open();
    for (const limit of [INT32_MAX + 1, 1e15, Number.MAX_SAFE_INTEGER]) {
      const response = await post(path, { model: "echo", ...body, [field]: limit });
      expect([limit, Math.floor(response.status / 100), await response.text()]).toEqual([limit, 4, expect.stringContaining(field)]);
    }
    expect(control.intents).toEqual([]);
  });
});

test("of a group whose deployments have different maxima the largest counts, and the deployment that is chosen is asked for no more than its own", async () => {
  const { sent, post } = await open();
  const refused = await post("/v1/chat/completions", { model: "mixed", messages, max_tokens: 501 });
  expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining("500")]);
  for (let call = 0; call < 40; call++)
    expect((await post("/v1/chat/completions", { model: "mixed", messages, max_tokens: 400 })).status).toBe(200);
  expect(new Set(sent.map(({ limit }) => limit))).toEqual(new Set([100, 400]));
});

test("where one deployment's maximum is not known, a larger number is not refused", async () => {
  const { sent, post } = await open();
  for (let call = 0; call < 40; call++)
    expect((await post("/v1/chat/completions", { model: "partly", messages, max_tokens: 400 })).status).toBe(200);
  expect(new Set(sent.map(({ limit }) => limit))).toEqual(new Set([100, 400]));
});

test("the largest number that is accepted sets a bounded amount aside where the maximum is not known", async () => {
  const { control, sent, post } = await open();
  expect((await post("/v1/chat/completions", { model: "partly", messages, max_tokens: INT32_MAX })).status).toBe(200);
  // 131,072 tokens at 2 USD a million, and the input.
  expect(control.intents.at(-1)?.worstCase).toBeLessThan(270_000_000n);
  expect(sent.at(-1)?.limit).toBeLessThanOrEqual(131_072);
});

test.each([
  ["/v1/chat/completions", { messages }, { n: 128 }, 128n],
  ["/v1/completions", { prompt: "hi" }, { n: 100 }, 100n],
  ["/v1/completions", { prompt: ["hi", "ho"] }, { n: 2, best_of: 6 }, 12n],
])("%s %j %j reserves the output of every choice that the provider makes", async (path, body, choices, times) => {
  const { control, post } = await open();
  const reserved = async (fields: object): Promise<bigint> => {
    expect((await post(path, { model: "gpt", ...body, ...fields })).status).toBe(200);
    return control.intents.at(-1)?.worstCase ?? 0n;
  };
  // 900 tokens more cost their output alone.
  const outputOf = async (fields: object) =>
    (await reserved({ ...fields, max_tokens: 1000 })) - (await reserved({ ...fields, max_tokens: 100 }));
  expect(await outputOf(choices)).toBe(times * (await outputOf("prompt" in body ? { prompt: "hi" } : {})));
});

test("each deployment of a group is believed up to its own maximum, whatever the dearest one may write", async () => {
  const { control, sent, post } = await open({ isFull: true });
  for (let call = 0; call < 20; call++) await (await post("/v1/chat/completions", { model: "mixed", messages })).text();
  expect(new Set(sent.map(({ limit }) => limit))).toEqual(new Set([100, 500]));
  expect(control.made.map(({ usage }) => Number(usage?.output)).toSorted()).toEqual(sent.map(({ limit }) => limit).toSorted());
});

test("without a limit of the caller, a long input leaves the output that fits into the model's context", async () => {
  const { sent, post } = await open();
  // 115,000 tokens of gpt-4o, whose context is 128,000 and whose output at most 16,384.
  const long = [{ role: "user", content: "word ".repeat(92_000) }];
  const ask = async (fields: object) => expect((await post("/v1/chat/completions", { model: "known", ...fields })).status).toBe(200);
  await ask({ messages });
  await ask({ messages: long });
  await ask({ messages: long, max_tokens: 16_000 });
  await ask({ messages: [{ role: "user", content: "word ".repeat(110_000) }] });
  const limits = sent.map(({ limit }) => limit);
  expect([limits[0], limits[2], limits[3]]).toEqual([16_384, 16_000, 1024]);
  expect(Math.abs((limits[1] ?? 0) - 13_000)).toBeLessThan(100);
});
