import OpenAI from "openai";
import { bytesOf, type ConversationBody } from "../../../stored/responses/conversations.ts";
import type { Fields } from "../../../upstream/providers/provider.ts";
import { FakeControl, startEdge, type TestEdge } from "../testing/edge-fixture.ts";
import { jsonCaller } from "../testing/json-caller-fixture.ts";

let control: FakeControl;
let edge: TestEdge;
let call: ReturnType<typeof jsonCaller>;
let client: OpenAI;
beforeAll(async () => {
  control = new FakeControl();
  edge = await startEdge(control);
  const { secret } = control.addKey();
  call = jsonCaller(edge.url, secret);
  client = new OpenAI({ apiKey: secret, baseURL: `${edge.url}/v1`, maxRetries: 0 });
});
afterAll(() => edge.close());

const textsOf = async (id: string) => {
  const texts: string[] = [];
  for await (const item of client.conversations.items.list(id, { order: "asc", limit: 2 })) {
    if (item.type === "message") texts.push(...item.content.map((part) => ("text" in part ? part.text : "")));
  }
  return texts;
};
const says = (content: string, role: "user" | "assistant" = "user") => ({ type: "message", role, content }) as const;

test("conversations and their items are created, listed, changed and deleted", async () => {
  const made = await client.conversations.create({ items: [says("one"), says("two", "assistant")], metadata: { of: "test" } });
  expect(made).toMatchObject({ object: "conversation", metadata: { of: "test" } });
  const added = await client.conversations.items.create(made.id, { items: [says("three")] });
  expect(added.data).toMatchObject([{ type: "message", status: "completed", content: [{ type: "input_text", text: "three" }] }]);
  expect(await textsOf(made.id)).toEqual(["one", "two", "three"]);
  const id = added.data[0]?.id ?? "";
  expect(await client.conversations.items.retrieve(id, { conversation_id: made.id })).toMatchObject({ id });
  expect(await client.conversations.items.delete(id, { conversation_id: made.id })).toMatchObject({ id: made.id });
  expect(await textsOf(made.id)).toEqual(["one", "two"]);
  expect(await client.conversations.update(made.id, { metadata: { of: "another" } })).toMatchObject({ metadata: { of: "another" } });
  expect(await client.conversations.retrieve(made.id)).toMatchObject({ metadata: { of: "another" } });
  expect(await client.conversations.delete(made.id)).toEqual({ id: made.id, object: "conversation.deleted", deleted: true });
  await expect(client.conversations.items.list(made.id)).rejects.toMatchObject({ status: 404 });
});

test("a response continues its conversation and adds its turn, whole, streamed, unstored and in the background", async () => {
  const { id } = await client.conversations.create({ items: [says("zero")] });
  const whole = await client.responses.create({ model: "echo", input: "one", conversation: id });
  expect([whole.output_text, whole.conversation]).toEqual(["one", { id }]);
  const stream = client.responses.stream({ model: "echo", input: [{ ...says("two"), id: "msg_given" }], conversation: { id } } as never);
  expect((await stream.finalResponse()).status).toBe("completed");
  await client.responses.create({ model: "echo", input: "three", conversation: id, store: false });
  const queued = await client.responses.create({ model: "echo", input: "four", conversation: id, background: true });
  for (let turn = 0; turn < 500 && (await client.responses.retrieve(queued.id)).status !== "completed"; turn++)
    await new Promise((resolve) => setTimeout(resolve, 10));
  expect(await textsOf(id)).toEqual(["zero", "one", "one", "two", "two", "three", "three", "four", "four"]);
  const counted = [...control.settled.values()].map(({ usage }) => Number(usage?.input));
  expect(counted).toEqual([...counted].sort((one, other) => one - other));
  expect(counted.at(-1)).toBeGreaterThan(counted[0] ?? 0);
});

test("turns of one conversation at the same time are all added", async () => {
  const { id } = await client.conversations.create();
  await Promise.all(["a", "b", "c", "d"].map((input) => client.responses.create({ model: "echo", input, conversation: id })));
  expect((await textsOf(id)).sort()).toEqual(["a", "a", "b", "b", "c", "c", "d", "d"]);
});

test("a conversation of 16 MiB takes no more items and no more turns until an item is deleted", async () => {
  const { id } = await client.conversations.create({ items: [says("small")] });
  const record = await control.records.get<ConversationBody>("team_1", "conversation", id);
  const owner = { teamId: "team_1", organizationId: "org_1", keyId: record?.keyId ?? "" };
  const bytes = bytesOf([(await client.conversations.items.list(id)).data[0] as unknown as Fields]);
  expect(record?.body.itemBytes).toBe(bytes);
  const filled = { type: "put", kind: "conversation", id, body: { ...record?.body, itemBytes: 16 * 1024 * 1024 } } as const;
  await control.records.commit(owner, [filled]);
  const added = await call("POST", `/v1/conversations/${id}/items`, { items: [says("x")] });
  const turn = await call("POST", "/v1/responses", { model: "echo", input: "x", conversation: id });
  for (const { status, json } of [added, turn]) {
    expect([status, json["error"]]).toMatchObject([400, { message: expect.stringContaining("16 MiB"), param: "conversation" }]);
  }
  const itemId = (await client.conversations.items.list(id)).data[0]?.id ?? "";
  await client.conversations.items.delete(itemId, { conversation_id: id });
  expect((await call("POST", "/v1/responses", { model: "echo", input: "x", conversation: id })).status).toBe(200);
  const after = await control.records.get<ConversationBody>("team_1", "conversation", id);
  const items = (await client.conversations.items.list(id)).data as unknown as Fields[];
  expect([items.length, after?.body.itemBytes]).toEqual([2, 16 * 1024 * 1024 - bytes + bytesOf(items)]);
});

test("another team's conversation is as if it were not, and wrong combinations are refused", async () => {
  const { id } = await client.conversations.create({ items: [says("one")] });
  const stranger = control.addKey({ teamId: "team_2", organizationId: "org_2" }).secret;
  const itemId = (await client.conversations.items.list(id)).data[0]?.id;
  for (const [method, path, body] of [
    ["GET", "", undefined],
    ["POST", "", { metadata: {} }],
    ["DELETE", "", undefined],
    ["GET", "/items", undefined],
    ["POST", "/items", { items: [says("x")] }],
    ["GET", `/items/${itemId}`, undefined],
    ["DELETE", `/items/${itemId}`, undefined],
  ] as const)
    expect([method, path, (await call(method, `/v1/conversations/${id}${path}`, body, stranger)).status]).toEqual([method, path, 404]);
  expect((await call("POST", "/v1/responses", { model: "echo", input: "x", conversation: id }, stranger)).status).toBe(404);
  const both = await call("POST", "/v1/responses", { model: "echo", input: "x", conversation: id, previous_response_id: "resp_1" });
  expect([both.status, both.json["error"]]).toMatchObject([400, { param: "previous_response_id" }]);
  expect((await call("POST", `/v1/conversations/${id}/items`, { items: Array(21).fill(says("x")) })).status).toBe(422);
  expect((await call("POST", `/v1/conversations/${id}/items`, { items: [{ id: "msg_x" }] })).status).toBe(422);
  for (let turn = 0; turn < 49; turn++) await call("POST", `/v1/conversations/${id}/items`, { items: Array(20).fill(says("x")) });
  expect((await call("POST", `/v1/conversations/${id}/items`, { items: Array(20).fill(says("x")) })).status).toBe(400);
});
