import { systemClock } from "../../../common/clock.ts";
import { parseStream, startEdge, type TestEdge } from "../../server/http/testing/edge-fixture.ts";

let edge: TestEdge;
beforeAll(async () => {
  edge = await startEdge();
});
afterAll(() => edge.close());

/** Sends a request with a key and returns what was sent of it to the control plane. */
async function contentsOf(path: string, body: object, { logContent }: { logContent: boolean | undefined }) {
  const { status, text, keyId } = await post(path, body, logContent);
  // What is sent of a later call comes after it.
  const fence = await post("/v1/chat/completions", CHAT, true);
  const { contents } = edge.control;
  for (let turns = 0; !contents.some((content) => content.keyId === fence.keyId); turns++) {
    if (turns > 200) throw new Error("nothing was sent of the fence");
    await systemClock.sleep(20);
  }
  return { status, text, sent: contents.filter((content) => content.keyId === keyId) };
}

async function post(path: string, body: object, logContent: boolean | undefined) {
  const { secret, caller } = edge.control.addKey({ logContent });
  const response = await edge.post(path, body, { authorization: `Bearer ${secret}` });
  return { status: response.status, text: await response.text(), keyId: caller.keyId };
}

const CHAT = { model: "echo", messages: [{ role: "user", content: "write to jane@example.org" }] };

test("calls without logContent send nothing", async () => {
  const { status, sent } = await contentsOf("/v1/chat/completions", CHAT, { logContent: undefined });
  expect([status, sent]).toEqual([200, []]);
});

test.each([false, true])("a chat (stream: %s) sends its prompt and what was answered, both redacted", async (stream) => {
  const { text, sent } = await contentsOf("/v1/chat/completions", { ...CHAT, max_tokens: 50, stream }, { logContent: true });
  if (stream) expect(parseStream(text).length).toBeGreaterThan(2);
  else expect(text).toContain("jane@example.org");
  expect(sent).toHaveLength(1);
  const [{ callId, organizationId, createdAt, content } = { content: undefined }] = sent;
  expect([edge.control.settled.has(callId ?? ""), organizationId, createdAt]).toEqual([true, "org_1", expect.any(Date)]);
  expect(JSON.parse(content?.prompt ?? "")).toEqual({
    messages: [{ role: "user", content: "write to [EMAIL]" }],
    parameters: { model: "echo", max_tokens: 50 },
  });
  expect(JSON.parse(content?.answer ?? "")).toMatchObject({
    choices: [{ index: 0, message: { role: "assistant", content: expect.stringContaining("write to [EMAIL]") }, finish_reason: "stop" }],
  });
  expect(JSON.stringify(content)).not.toContain("jane@");
});

test("a refused call sends nothing: a key without credit cannot fill the store", async () => {
  const { status, sent } = await contentsOf("/v1/chat/completions", { ...CHAT, model: "none" }, { logContent: true });
  expect([status, sent]).toEqual([404, []]);
});

test("an embedding sends its prompt and no answer, a completion both", async () => {
  const { sent } = await contentsOf("/v1/completions", { model: "echo", prompt: "once upon" }, { logContent: true });
  expect(sent[0]?.content).toMatchObject({
    prompt: '{"prompt":"once upon","parameters":{"model":"echo"}}',
    answer: expect.stringContaining("once upon"),
  });
  const embedded = await contentsOf("/v1/embeddings", { model: "echo", input: "a text" }, { logContent: true });
  expect(embedded.sent[0]?.content).toMatchObject({ prompt: '{"input":["a text"],"parameters":{"model":"echo"}}', answer: undefined });
});
