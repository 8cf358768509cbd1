import { meterAnswer } from "./answer-meter.ts";
import { readPath } from "./operations.ts";

const delta = (content: string) => `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`;

async function* chunks(texts: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text);
}

async function metered(texts: readonly string[], { path = "/v1/chat/completions", hasLeft = (): boolean => false } = {}) {
  const { operation } = readPath(path, "");
  if (operation === undefined || operation === "free") throw new Error(`${path} is not billed`);
  const { reader } = operation;
  return await meterAnswer(chunks(texts), { reader, request: {}, model: "", contentType: "text/event-stream", hasLeft });
}

test("after an event that cannot be read all bytes count, because something was delivered with them", async () => {
  const { output, isFinal } = await metered([delta("hi"), "data: {broken\n\n", "x".repeat(3000)]);
  expect([output, isFinal]).toEqual([1001, false]);
});

test("what comes after the client has left counts only by the provider's report", async () => {
  let count = 0;
  const hasLeft = () => count++ >= 1;
  expect((await metered([delta("hi"), delta("one two three")], { hasLeft })).output).toBe(1);
});

test("a stream without output in its operation has none, whatever it sends", async () => {
  expect(await metered(["data: {broken\n\n", "x".repeat(3000)], { path: "/v1/embeddings" })).toMatchObject({ output: 0 });
});
