import { BadRequestError, toFile } from "openai";
import { call } from "../../helpers/api.ts";
import { PICTURE, SOUND } from "../../helpers/fake-upstream/media.ts";
import { type Bench, nodeClient, startBench } from "./bench.ts";
import { python, testCases, testScript } from "./cases.ts";

let bench: Bench;

beforeAll(async () => {
  bench = await startBench();
});
afterAll(() => bench?.stop());

const TYPES = { mp3: "audio/mpeg", pcm: "audio/pcm", wav: "audio/wav" } as const;
const recording = (name = "speech.wav") => toFile(Buffer.alloc(100_000, 7), name, { type: "audio/wav" });
const client = () => nodeClient(bench).openai;
const speak = (format: keyof typeof TYPES, input = "hello") =>
  client().audio.speech.create({ model: "tts", voice: "alloy", input, response_format: format });

testCases("openai-node", {
  F1: async () => {
    for (const [input, count] of [
      ["one", 1],
      [["one", "two"], 2],
      [[{ type: "text", text: "one" }], 1],
    ] as const) {
      const { results } = await client().moderations.create({ model: "moderation", input: input as string });
      expect(results).toHaveLength(count);
      const { categories, category_scores: scores, category_applied_input_types: types } = results[0] ?? {};
      expect([categories, scores, types].map((group) => Object.keys(group ?? {}).length)).toEqual([13, 13, 13]);
    }
  },
  F2: async () => {
    for (const format of ["mp3", "pcm", "wav"] as const) {
      const response = await speak(format);
      expect(response.headers.get("content-type")).toBe(TYPES[format]);
      const pieces: Uint8Array[] = [];
      for await (const piece of response.body as unknown as AsyncIterable<Uint8Array>) {
        if (pieces.length === 0) expect(bench.fake.last("tts-1--pong").ended).toBe(false);
        pieces.push(piece);
      }
      expect(Buffer.concat(pieces).equals(Buffer.concat(SOUND))).toBe(true);
      expect(bench.fake.last("tts-1--pong").body).toMatchObject({ voice: "alloy", input: "hello", response_format: format });
    }
  },
  F4: async () => {
    const error = await speak("mp3", "x".repeat(4097)).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(BadRequestError);
    expect(error).toMatchObject({ status: 400, param: "input" });
  },
  F5: async () => {
    for (const model of ["transcribe", "whisper"]) {
      const answer = await client().audio.transcriptions.create({ model, file: await recording(model === "whisper" ? "a.mp3" : "a.wav") });
      expect([answer.text, answer.usage?.type]).toEqual(["hello there", model === "whisper" ? "duration" : "tokens"]);
    }
    for (const format of ["text", "srt", "vtt"] as const) {
      const text = await client().audio.transcriptions.create({ model: "whisper", file: await recording(), response_format: format });
      expect(text as unknown as string).toBe(`${format}: hello there\n`);
    }
  },
  F7: async () => {
    const granularities = ["word", "segment"] as ("word" | "segment")[];
    const answer = await client().audio.transcriptions.create({
      model: "whisper",
      file: await recording(),
      response_format: "verbose_json",
      timestamp_granularities: granularities,
    });
    expect([answer.words?.length, answer.segments?.length, answer.duration]).toEqual([1, 1, 1.5]);
    const { body } = bench.fake.last("whisper-1--pong");
    expect([body["timestamp_granularities[]"], body.file.name, body.file.size]).toEqual([granularities, "speech.wav", 100_000]);
  },
  F8: async () => {
    const stream = await client().audio.transcriptions.create({ model: "transcribe", file: await recording(), stream: true });
    const types: string[] = [];
    for await (const event of stream) types.push(event.type);
    expect(types).toEqual(["transcript.text.delta", "transcript.text.delta", "transcript.text.done"]);
  },
  F10: async () => {
    expect((await client().audio.translations.create({ model: "whisper", file: await recording() })).text).toBe("in English");
  },
  F11: async () => {
    const base64 = await client().images.generate({ model: "image", prompt: "a dot", response_format: "b64_json" });
    expect(base64.data?.[0]?.b64_json).toBe(PICTURE);
    const url = await client().images.generate({ model: "image", prompt: "a dot", response_format: "url", n: 2 });
    expect(url.data?.map((image) => image.url)).toEqual(["https://pictures.test/1.png", "https://pictures.test/1.png"]);
    const types: string[] = [];
    for await (const event of await client().images.generate({ model: "image", prompt: "a dot", stream: true, partial_images: 2 })) {
      types.push(event.type);
    }
    expect(types).toEqual(["image_generation.partial_image", "image_generation.partial_image", "image_generation.completed"]);
    const edited = await client().images.edit({
      model: "image",
      prompt: "a dot",
      image: [await recording("a.png"), await recording("b.png")],
    });
    expect(edited.data?.[0]?.b64_json).toBe(PICTURE);
    expect(bench.fake.last("gpt-image-1--pong").body["image[]"]).toHaveLength(2);
  },
});

testCases("curl", {
  F13: async () => {
    for (const path of ["/rerank", "/v1/rerank", "/v2/rerank"]) {
      const { status, body, headers } = await call(bench.system.url, "POST", path, {
        key: bench.key,
        body: { model: "rerank", query: "q", documents: ["a", { text: "b" }, "c"], top_n: 2, return_documents: true },
      });
      expect([status, body.results]).toEqual([
        200,
        [
          { index: 2, relevance_score: 0.3, document: { text: "c" } },
          { index: 1, relevance_score: 0.2, document: { text: "b" } },
        ],
      ]);
      expect(body.meta.billed_units).toEqual({ search_units: 1 });
      // 0.002 USD a search.
      expect(headers.get("x-gw-cost-nano")).toBe("2000000");
    }
  },
});

testScript({
  client: "openai-python",
  ids: ["F1", "F2", "F4", "F5", "F7", "F8", "F10", "F11"],
  command: python("f_media.py"),
  bench: () => bench,
});
