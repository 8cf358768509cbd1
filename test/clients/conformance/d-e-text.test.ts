import { BadRequestError } from "openai";
import { call } from "../../helpers/api.ts";
import { vectorOf } from "../../helpers/fake-upstream/dialect.ts";
import { POEM } from "../../helpers/fake-upstream/scripts.ts";
import { type Bench, nodeClient, startBench } from "./bench.ts";
import { python, testCases, testScript } from "./cases.ts";

let bench: Bench;

beforeAll(async () => {
  bench = await startBench();
});
afterAll(() => bench?.stop());

const complete = (more: object = {}) =>
  nodeClient(bench).openai.completions.create({ model: "davinci", prompt: "say", ...more, stream: false });
const embed = (input: unknown, more: object = {}) =>
  nodeClient(bench).openai.embeddings.create({ model: "text-embedding", input: input as string, ...more });

testCases("openai-node", {
  D1: async () => {
    const answer = await complete();
    expect([answer.object, answer.model, answer.choices[0]?.text, answer.choices[0]?.finish_reason]).toEqual([
      "text_completion",
      "davinci",
      "pong",
      "stop",
    ]);
    expect(answer.usage).toMatchObject({ prompt_tokens: 7, completion_tokens: 1, total_tokens: 8 });
  },
  D2: async () => {
    const { choices } = await complete({ prompt: ["one", "two"], n: 2 });
    expect(choices.map(({ index, text }) => [index, text])).toEqual([
      [0, "pong"],
      [1, "pong#1"],
      [2, "pong#2"],
      [3, "pong#3"],
    ]);
  },
  D4: async () => {
    const stream = await nodeClient(bench).openai.completions.create({
      model: "davinci-poem",
      prompt: "say",
      stream: true,
      stream_options: { include_usage: true },
    });
    const chunks = [];
    for await (const chunk of stream) chunks.push(chunk);
    expect(chunks.map(({ choices }) => choices[0]?.text ?? "").join("")).toBe(POEM.join(""));
    expect(chunks.flatMap(({ choices }) => choices.flatMap(({ finish_reason }) => finish_reason ?? []))).toEqual(["stop"]);
    expect(chunks.at(-2)?.choices[0]?.finish_reason).toBe("stop");
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { prompt_tokens: 11, completion_tokens: 20, total_tokens: 31 } });
  },
  D5: async () => {
    const [choice] = (await complete({ logprobs: 2, echo: true })).choices;
    expect(choice?.text).toBe("saypong");
    const { tokens, token_logprobs, top_logprobs, text_offset } = choice?.logprobs ?? {};
    const lengths = [tokens, token_logprobs, top_logprobs, text_offset].map((list) => list?.length);
    expect(lengths).toEqual([1, 1, 1, 1]);
    expect(bench.fake.last("davinci-002--pong").body).toMatchObject({ logprobs: 2, echo: true });
  },
  E1: async () => {
    const { data, usage } = await embed("hello");
    expect(data[0]?.embedding).toHaveLength(8);
    for (const [index, value] of (data[0]?.embedding ?? []).entries()) expect(value).toBeCloseTo(vectorOf(0, 8)[index] ?? 0, 6);
    expect(usage).toMatchObject({ prompt_tokens: 4, total_tokens: 4 });
  },
  E5: async () => {
    for (const [input, count] of [
      ["one", 1],
      [["one", "two"], 2],
      [[11, 12, 13], 1],
      [[[11, 12], [13]], 2],
    ] as const) {
      const { data } = await embed(input);
      expect(data.map(({ index }) => index)).toEqual(Array.from({ length: count }, (_, index) => index));
      const { input: sent } = bench.fake.last("text-embedding-3-small--pong").body;
      // The adapter always sends a list; what is in it is of the same form.
      expect([input, [input]]).toContainEqual(sent);
    }
  },
  E10: async () => {
    for (const group of ["text-embedding", "gem-embedding", "coh-embedding"]) {
      expect([group, (await embed("hi", { model: group, dimensions: 256 })).data[0]?.embedding.length]).toEqual([group, 256]);
    }
    expect(bench.fake.last("text-embedding-3-small--pong").body.dimensions).toBe(256);
    expect(bench.fake.last("gemini-embedding-001--pong").body.requests[0].outputDimensionality).toBe(256);
    expect(bench.fake.last("embed-v4.0--pong").body.output_dimension).toBe(256);
    const ollama = await embed("hi", { model: "oll-embedding", dimensions: 256 }).catch((error: unknown) => error);
    if (ollama instanceof Error) expect(ollama).toMatchObject({ status: 400, code: "unsupported_parameter", param: "dimensions" });
    else expect((ollama as { data: { embedding: number[] }[] }).data[0]?.embedding).toHaveLength(256);
    expect((await embed("hi", { model: "oll-embedding" })).data[0]?.embedding).toHaveLength(8);
  },
  E11: async () => {
    for (const input of ["", [], [""], Array.from({ length: 2049 }, () => "x")]) {
      const error = await embed(input).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(BadRequestError);
      expect(error).toMatchObject({ status: 400, param: "input" });
    }
  },
  E13: async () => {
    const { data } = await nodeClient(bench, { baseURL: `${bench.system.url}/engines/text-embedding` }).openai.embeddings.create({
      model: "text-embedding",
      input: "hello",
    });
    expect(data[0]?.embedding).toHaveLength(8);
  },
});

test("E-extra: what is asked for as floats comes as floats, and base64 as base64", async () => {
  const ask = (encoding: string | undefined) =>
    call(bench.system.url, "POST", "/v1/embeddings", {
      key: bench.key,
      body: { model: "text-embedding", input: "hi", ...(encoding === undefined ? {} : { encoding_format: encoding }) },
    });
  for (const encoding of ["float", undefined]) expect((await ask(encoding)).body.data[0].embedding).toHaveLength(8);
  const bytes = Buffer.from((await ask("base64")).body.data[0].embedding, "base64");
  expect(bytes.readFloatLE(4)).toBeCloseTo(vectorOf(0, 8)[1] ?? 0, 6);
});

testScript({
  client: "openai-python",
  ids: ["D1", "D2", "D4", "D5", "E2", "E5", "E10", "E11", "E13"],
  command: python("d_e_text.py"),
  bench: () => bench,
});
