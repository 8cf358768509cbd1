import { setTimeout as delay } from "node:timers/promises";
import type { UsageLog } from "../../../../proto/gen/tributary/usage/v1/usage.ts";
import { FakeControl, startEdge, type TestEdge } from "./edge-fixture.ts";

const PATH = "/v1/chat/completions";
let control: FakeControl;
let edge: TestEdge;
let auth: Record<string, string>;

beforeEach(async () => {
  control = new FakeControl();
  edge = await startEdge(control);
  auth = { authorization: `Bearer ${control.addKey({}).secret}` };
});
afterEach(() => edge.close());

const hello = [{ role: "user", content: "hello" }];
const refusedRows = () => [...control.settled.values()].filter(({ status }) => status === "refused");

/** The row of a refusal does not delay its answer, so it comes a moment later. */
async function rowsWhen(count: number): Promise<UsageLog[]> {
  for (let look = 0; look < 500 && refusedRows().length < count; look++) await delay(10);
  return refusedRows();
}

test.each([
  ["an unknown model", { model: "no-such-model", messages: hello, stream: true }, 404, "MODEL_NOT_FOUND", "no-such-model", true],
  ["a parameter that is not valid", { model: "echo", messages: hello, temperature: "hot" }, 422, "UNPROCESSABLE", "echo", false],
  ["no messages", { model: "echo" }, 422, "UNPROCESSABLE", "echo", false],
])("a call with %s is a refused row with its reason, at no cost", async (_name, body, status, errorCode, model, stream) => {
  const response = await edge.post(PATH, body, auth);
  const answered = (await response.json()) as { error: { message: string } };
  expect(response.status).toBe(status);
  const [row, ...others] = await rowsWhen(1);
  expect(others).toEqual([]);
  expect(row).toMatchObject({ status: "refused", httpStatus: status, errorCode, model, stream, cost: 0n, endpoint: PATH });
  expect(row?.callId).toBe(response.headers.get("x-gw-call-id"));
  expect(row?.reason).toBe(answered.error.message);
});

test("a call without a valid key, and a request that makes no call, leave no row", async () => {
  const stranger = await edge.post(PATH, { model: "echo", messages: hello }, { authorization: "Bearer sk-none" });
  const list = await fetch(`${edge.url}/v1/models/no-such-model`, { headers: auth });
  expect([stranger.status, list.status]).toEqual([401, 404]);
  // A later refusal comes with its row, so the earlier requests have had their time.
  await edge.post(PATH, { model: "no-such-model", messages: hello }, auth);
  expect(await rowsWhen(1)).toHaveLength(1);
});

test("above sixty in a minute, the refusals of a key share one row that counts them", async () => {
  const other = { authorization: `Bearer ${control.addKey({}).secret}` };
  await edge.post(PATH, { model: "other", messages: hello }, other);
  for (let call = 0; call < 75; call++) await edge.post(PATH, { model: "no-such-model", messages: hello }, auth);
  // One of the other key, and all of this key but the last, which waits for the end of the minute.
  expect(await rowsWhen(60)).toHaveLength(60);
  await edge.close();
  const rows = refusedRows().filter(({ model }) => model === "no-such-model");
  expect(rows).toHaveLength(60);
  expect(rows.map(({ refused = 1n }) => refused).reduce((sum, count) => sum + count)).toBe(75n);
});
