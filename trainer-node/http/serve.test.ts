import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import OpenAI from "openai";
import { DIGITS_ACCURACY } from "../../common/built-in-models.ts";
import { type Manifest, servedId } from "../../common/training/trained-manifest.ts";
import { DIGITS, parseDigits, splitDigits } from "../compute/datasets/digits.ts";
import { type Node, startNode } from "../node-harness.ts";

const held = splitDigits(parseDigits(readFileSync(join(__dirname, "../compute/datasets/digits.txt"), "utf8")), "test");
const row = (index: number) => [...held.features.subarray(index * DIGITS.columns, (index + 1) * DIGITS.columns)];
const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

let node: Node;
beforeAll(async () => {
  node = await startNode({ bodyBytesMax: 20_000_000, bytesBudget: 100_000_000, blobBytesMax: 50_000_000 });
});
afterAll(() => node.stop());

const nameOf = (manifest: Manifest) => servedId(manifest) ?? "";
const clientOf = (manifest: Manifest, url = node.url) =>
  new OpenAI({ baseURL: `${url}/v1/serve/${nameOf(manifest)}`, apiKey: "none", maxRetries: 0 });

async function train(config: object, dataset: unknown): Promise<Buffer> {
  const response = await fetch(`${node.url}/train`, {
    method: "POST",
    body: JSON.stringify({ parameters: null, dataset, config, format: "safetensors" }),
  });
  const answer = (await response.json()) as { parameters: string };
  if (!response.ok) throw new Error(JSON.stringify(answer));
  return Buffer.from(answer.parameters, "base64");
}

async function put(bytes: Buffer, url = node.url): Promise<string> {
  const digest = sha256(bytes);
  expect((await fetch(`${url}/v1/blobs/${digest}`, { method: "PUT", body: bytes })).status).toBe(201);
  return digest;
}

describe("a classifier of rows", () => {
  const labels = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"];
  let manifest: Manifest;
  beforeAll(async () => {
    manifest = { task: "softmax", labels, blob: await put(await train({ task: "softmax", epochs: 5, seed: 1 }, "digits")) };
  });

  test("through chat the content is the label, a token is a byte, and most labels are right", async () => {
    const client = clientOf(manifest);
    let right = 0;
    for (let index = 0; index < 20; index++) {
      const content = JSON.stringify(row(index));
      const answer = await client.chat.completions.create({ model: "d@1", messages: [{ role: "user", content }] });
      const said = answer.choices[0]?.message.content ?? "";
      expect(labels).toContain(said);
      expect(answer.choices[0]?.finish_reason).toBe("stop");
      expect(answer.usage).toEqual({
        prompt_tokens: content.length,
        completion_tokens: said.length,
        total_tokens: content.length + said.length,
      });
      if (said === labels[held.labels[index] as number]) right++;
    }
    expect(right).toBeGreaterThanOrEqual(16);
  });

  test("through moderations the categories are the classes with their scores, one result for each text", async () => {
    const answer = await clientOf({ ...manifest, flagged: ["one"] }).moderations.create({
      model: "d",
      input: [0, 1, 2].map((index) => JSON.stringify(row(index))),
    });
    expect(answer.results).toHaveLength(3);
    for (const { categories, category_scores: scores, flagged } of answer.results) {
      expect(Object.keys(categories)).toEqual(labels);
      const values = Object.values(scores as unknown as Record<string, number>);
      expect(values.reduce((sum, score) => sum + score, 0)).toBeCloseTo(1, 6);
      const best = labels[values.indexOf(Math.max(...values))];
      expect(
        Object.entries(categories)
          .filter(([, is]) => is)
          .map(([name]) => name),
      ).toEqual([best]);
      expect(flagged).toBe(best === "one");
    }
  });

  test("a row may be an object: by the names of its columns in any order, or in the order of the features", async () => {
    const columns = Array.from({ length: DIGITS.columns }, (_, index) => `p${index}`);
    const values = row(3);
    const turned = Object.fromEntries(columns.map((name, index) => [name, values[index]]).reverse());
    const [plain, named, bare] = await Promise.all([
      clientOf(manifest).moderations.create({ model: "d", input: JSON.stringify(values) }),
      clientOf({ ...manifest, columns }).moderations.create({ model: "d", input: JSON.stringify(turned) }),
      clientOf(manifest).moderations.create({
        model: "d",
        input: JSON.stringify({ ...Object.fromEntries(columns.map((n, i) => [n, values[i]])), label: 9 }),
      }),
    ]);
    expect(named.results).toEqual(plain.results);
    expect(bare.results).toEqual(plain.results);
  });

  test.each([
    ["no JSON", "three", /not JSON; send the row as JSON text/],
    ["a number", "3", /not a row/],
    ["too few numbers", "[1,2,3]", /row of 3 numbers does not fit this model/],
    ["a text among the numbers", JSON.stringify(["a", ...row(0).slice(1)]), /row 0 .* not a number at column 0/],
  ])("%s is a 400 that says what to send", async (_name, content, message) => {
    const asked = clientOf(manifest).chat.completions.create({ model: "d", messages: [{ role: "user", content }] });
    await expect(asked).rejects.toMatchObject({ status: 400, type: "invalid_request_error", message: expect.stringMatching(message) });
  });

  test("an unsupported operation is a 400, and an invalid manifest a 404", async () => {
    await expect(clientOf(manifest).embeddings.create({ model: "d", input: JSON.stringify(row(0)) })).rejects.toMatchObject({
      status: 400,
    });
    expect((await fetch(`${node.url}/v1/serve/nonsense/completions`, { method: "POST", body: "{}" })).status).toBe(404);
    expect((await fetch(`${node.url}/v1/serve/${nameOf(manifest)}/completions`)).status).toBe(405);
  });

  test("unreadable parameters are a 400: to repeat the call, or to ask another node, does not help", async () => {
    const broken = { task: "softmax", blob: await put(Buffer.from("no model at all")) } as const;
    const asked = clientOf(broken).chat.completions.create({ model: "d", messages: [{ role: "user", content: JSON.stringify(row(0)) }] });
    await expect(asked).rejects.toMatchObject({ status: 400, message: expect.stringContaining("cannot be read") });
  });

  test("missing parameters are downloaded once and checked; without a source that has them: 503", async () => {
    const other = await startNode({ blobSources: ["http://127.0.0.1:1", node.url] });
    try {
      const input = JSON.stringify(row(0));
      const asked = () => clientOf(manifest, other.url).moderations.create({ model: "d", input });
      const [one, two] = await Promise.all([asked(), asked()]);
      expect(one.results).toEqual(two.results);
      expect(one.results).toEqual((await clientOf(manifest).moderations.create({ model: "d", input })).results);
      expect((await fetch(`${other.url}/v1/blobs/${manifest.blob}`)).status).toBe(200);
      const lost = clientOf({ ...manifest, blob: "0".repeat(64) }, other.url).moderations.create({ model: "d", input });
      await expect(lost).rejects.toMatchObject({ status: 503, code: "parameters_unavailable" });
    } finally {
      await other.stop();
    }
  });
});

test("the built-in model needs no parameters, and is as good as the catalog says", async () => {
  const client = clientOf({ task: "softmax", builtin: "digits" });
  const input = Array.from({ length: held.rows }, (_, index) => JSON.stringify(row(index)));
  const { results } = await client.moderations.create({ model: "digits", input });
  const right = results.filter(({ categories }, index) => (categories as unknown as Record<string, boolean>)[String(held.labels[index])]);
  expect(right.length / held.rows).toBeCloseTo(DIGITS_ACCURACY, 3);
});

describe("an embedding", () => {
  test("is the same vector as floats and as base64, of length 1", async () => {
    const texts = ["red apples", "green apples", "blue ocean", "deep ocean"].map((text, index) => ({ text, label: index >> 1 }));
    const blob = await put(await train({ task: "text_embedding", epochs: 5, seed: 1, buckets: 512, dimensions: 8 }, texts));
    const client = clientOf({ task: "text_embedding", blob });
    const floats = await client.embeddings.create({ model: "e", input: ["red apples", "deep ocean"], encoding_format: "float" });
    // The client asks for base64 by itself and decodes it.
    const decoded = await client.embeddings.create({ model: "e", input: ["red apples", "deep ocean"] });
    expect(floats.usage).toEqual({ prompt_tokens: 20, total_tokens: 20 });
    floats.data.forEach(({ embedding }, index) => {
      expect(Math.hypot(...embedding)).toBeCloseTo(1, 5);
      decoded.data[index]?.embedding.forEach((value, place) => {
        expect(value).toBeCloseTo(embedding[place] as number, 6);
      });
    });
    const chat = client.chat.completions.create({ model: "e", messages: [{ role: "user", content: "hello" }] });
    await expect(chat).rejects.toMatchObject({ status: 400, message: expect.stringContaining("/v1/embeddings") });
  });
});

describe("a language model of bytes", () => {
  const verse = "the quick brown fox jumps over the lazy dog";
  let client: OpenAI;
  beforeAll(async () => {
    const config = {
      task: "byte_lm",
      epochs: 120,
      batch_size: 16,
      lr: 0.01,
      optimizer: "adam",
      seed: 1,
      hidden: [32],
      dimensions: 8,
      context: 6,
    };
    client = clientOf({ task: "byte_lm", blob: await put(await train(config, [{ text: verse }])) });
  });

  test("goes on with what it learned, whole and streamed alike, and says when it is over", async () => {
    const asked = { model: "lm", prompt: "the quick", temperature: 0, max_tokens: 200 };
    const whole = await client.completions.create(asked);
    expect(whole.choices[0]).toMatchObject({ text: " brown fox jumps over the lazy dog", finish_reason: "stop" });
    expect(whole.usage).toMatchObject({ prompt_tokens: 9, completion_tokens: verse.length - 9 });
    const pieces: string[] = [];
    let usage: unknown;
    for await (const chunk of await client.completions.create({ ...asked, stream: true, stream_options: { include_usage: true } })) {
      if (chunk.choices[0]?.text) pieces.push(chunk.choices[0].text);
      usage = chunk.usage ?? usage;
    }
    expect(pieces.length).toBeGreaterThan(1);
    expect(pieces.join("")).toBe(whole.choices[0]?.text);
    expect(usage).toEqual(whole.usage);
  });

  test("max_tokens counts bytes, and a stop is not shown even where a piece ends within it", async () => {
    const short = await client.completions.create({ model: "lm", prompt: "the quick", temperature: 0, max_tokens: 6 });
    expect(short.choices[0]).toMatchObject({ text: " brown", finish_reason: "length" });
    const stopped = await client.chat.completions.create({
      model: "lm",
      messages: [{ role: "user", content: "the quick" }],
      temperature: 0,
      max_tokens: 200,
      stop: ["mps ov", "never"],
    });
    expect(stopped.choices[0]).toMatchObject({ message: { content: " brown fox ju" }, finish_reason: "stop" });
    expect(stopped.usage?.completion_tokens).toBe(13);
  });

  test("a seed gives one text, another seed another; choices differ from each other", async () => {
    const write = async (seed: number, n = 1) =>
      (await client.completions.create({ model: "lm", prompt: "", temperature: 2, max_tokens: 60, seed, n })).choices.map(
        ({ text }) => text,
      );
    expect(await write(7)).toEqual(await write(7));
    expect(await write(7)).not.toEqual(await write(8));
    expect(new Set(await write(7, 3)).size).toBe(3);
  });
});

test("calls are answered while every training thread is at work", async () => {
  const busy = await startNode({ threads: 1 });
  try {
    const body = JSON.stringify({ dataset: "digits", config: { epochs: 1000, batch_size: 1, seed: 1 } });
    const left = new AbortController();
    let isTrained = false;
    const training = fetch(`${busy.url}/train`, { method: "POST", body, signal: left.signal }).then(
      ({ status }) => {
        expect(status).toBe(200);
        isTrained = true;
      },
      () => {},
    );
    while (busy.deps.pool.load().running === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    const client = clientOf({ task: "softmax", builtin: "digits" }, busy.url);
    const answer = await client.moderations.create({ model: "d", input: JSON.stringify(row(0)) });
    expect(answer.results).toHaveLength(1);
    expect(isTrained).toBe(false);
    left.abort();
    await training;
  } finally {
    await busy.stop();
  }
});
