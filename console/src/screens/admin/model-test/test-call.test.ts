import { answerWords, testCall } from "./test-call.ts";

test("each type is asked at its own path with little, and what needs a recording is not asked", () => {
  expect(testCall("chat", "echo")).toMatchObject({ path: "/v1/chat/completions", body: { model: "echo", max_tokens: 16 } });
  expect(testCall("embedding", "e")?.path).toBe("/v1/embeddings");
  expect(testCall("audio_transcription", "t")).toBeUndefined();
});

test("answers are told in a line, whatever their shape", () => {
  expect(answerWords("chat", { choices: [{ message: { content: "<b>hi</b>" } }] })).toBe("“<b>hi</b>”");
  expect(answerWords("completion", { choices: [{ text: "" }] })).toBe("an empty answer");
  expect(answerWords("embedding", { data: [{ embedding: [1, 2, 3] }] })).toBe("a vector of 3 numbers");
  expect(answerWords("moderation", { results: [{ flagged: true }] })).toBe("flagged");
  expect(answerWords("rerank", { results: [{ index: 1 }] })).toBe("document 2 fits best");
  expect(answerWords("audio_speech", undefined)).toBe("sound");
});
