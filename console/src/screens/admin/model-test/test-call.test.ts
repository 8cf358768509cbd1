import { answerText, testCall } from "./test-call.ts";

test("each type has a small call at its own path; a type that needs an audio file has none", () => {
  expect(testCall("chat", "echo")).toMatchObject({ path: "/v1/chat/completions", body: { model: "echo", max_tokens: 16 } });
  expect(testCall("embedding", "e")?.path).toBe("/v1/embeddings");
  expect(testCall("audio_transcription", "t")).toBeUndefined();
});

test("responses of every type are summarized in one line", () => {
  expect(answerText("chat", { choices: [{ message: { content: "<b>hi</b>" } }] })).toBe("“<b>hi</b>”");
  expect(answerText("completion", { choices: [{ text: "" }] })).toBe("empty response");
  expect(answerText("embedding", { data: [{ embedding: [1, 2, 3] }] })).toBe("vector with 3 dimensions");
  expect(answerText("moderation", { results: [{ flagged: true }] })).toBe("flagged");
  expect(answerText("rerank", { results: [{ index: 1 }] })).toBe("best match: document 2");
  expect(answerText("audio_speech", undefined)).toBe("audio");
});
