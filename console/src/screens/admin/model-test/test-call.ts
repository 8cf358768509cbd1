/** The smallest test call for a model type; undefined if the type needs a file. */
export interface TestCall {
  readonly path: string;
  readonly body: object;
}

const CALLS: Readonly<Record<string, (model: string) => TestCall>> = {
  chat: (model) => ({
    path: "/v1/chat/completions",
    body: { model, messages: [{ role: "user", content: "Say hello." }], max_tokens: 16 },
  }),
  completion: (model) => ({ path: "/v1/completions", body: { model, prompt: "Hello,", max_tokens: 8 } }),
  embedding: (model) => ({ path: "/v1/embeddings", body: { model, input: "hello" } }),
  moderation: (model) => ({ path: "/v1/moderations", body: { model, input: "hello" } }),
  rerank: (model) => ({ path: "/v1/rerank", body: { model, query: "river", documents: ["a river", "a stone"] } }),
  image: (model) => ({ path: "/v1/images/generations", body: { model, prompt: "a river", n: 1 } }),
  audio_speech: (model) => ({ path: "/v1/audio/speech", body: { model, input: "hello", voice: "alloy" } }),
};

export const testCall = (type: string, model: string): TestCall | undefined => CALLS[type]?.(model);

/** A one-line summary of the response. Model output is rendered as text, never as HTML. */
export function answerText(type: string, answer: unknown): string {
  const { choices, data, results } = (answer ?? {}) as {
    choices?: { message?: { content?: unknown }; text?: unknown }[];
    data?: { embedding?: unknown }[];
    results?: { flagged?: boolean; index?: number }[];
  };
  const said = choices?.[0]?.message?.content ?? choices?.[0]?.text;
  if (typeof said === "string") return said === "" ? "empty response" : `“${said}”`;
  const embedding = data?.[0]?.embedding;
  if (Array.isArray(embedding)) return `vector with ${embedding.length} dimensions`;
  if (type === "moderation") return results?.[0]?.flagged === true ? "flagged" : "not flagged";
  if (type === "rerank") return `best match: document ${(results?.[0]?.index ?? 0) + 1}`;
  return type === "image" ? "image" : type === "audio_speech" ? "audio" : "response";
}
