import type { Model } from "../../api/types.ts";
import { initialValues, kindOf, offeredKinds, requestOf } from "./other-calls.ts";

const model = (name: string, type: string, task?: string): Model =>
  ({ name, type, trained: task === undefined ? null : { task } }) as unknown as Model;
const CATALOG = [model("echo", "chat"), model("vectors", "embedding"), model("digits", "moderation", "softmax"), model("ranker", "rerank")];

test("only kinds that have a model are offered, and a model opens its own form", () => {
  expect(offeredKinds(CATALOG)).toEqual(["embedding", "rerank"]);
  expect(["vectors", "ranker", "echo", "digits", "unknown", undefined].map((name) => kindOf(name, CATALOG))).toEqual([
    "embedding",
    "rerank",
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});

test.each([
  ["embedding", "/v1/embeddings", { input: ["hello river"] }],
  ["rerank", "/v1/rerank", { query: "Where does the river end?", documents: ["A river ends in the sea.", "A mill turns in the wind."] }],
  ["image", "/v1/images/generations", { prompt: "A river delta from above", size: "1024x1024", n: 1 }],
  ["audio_speech", "/v1/audio/speech", { input: "The river runs to the sea.", voice: "alloy", response_format: "mp3" }],
] as const)("the form of %s makes its request", (kind, path, body) => {
  expect(requestOf(kind, "m", initialValues(kind))).toEqual({ path, body: { model: "m", ...body } });
});
