import { setTimeout as delay } from "node:timers/promises";
import { abortSignalOf } from "../../../../common/cancel.ts";
import { AppError } from "../../../../common/errors.ts";
import type { BatchObject } from "../../../schemas/stored/batches.ts";
import { echoUpstream } from "../../../upstream/providers/echo/upstream.ts";
import type { Send } from "../../../upstream/providers/provider.ts";
import { deployment, FakeControl, startEdge, type TestEdge } from "../testing/edge-fixture.ts";

const edges: TestEdge[] = [];
afterEach(async () => {
  for (const edge of edges.splice(0)) await edge.close();
});

async function open(send?: Send, control = new FakeControl()) {
  const edge = await startEdge(control, send ? { send } : {});
  edges.push(edge);
  const { secret, caller } = control.addKey();
  return { edge, control, caller, ...clientOf(edge, secret) };
}

/** What a client of the API does with files and batches. */
function clientOf(edge: TestEdge, secret: string) {
  const headers = { authorization: `Bearer ${secret}` };
  const get = async <Body>(path: string) => (await (await fetch(edge.url + path, { headers })).json()) as Body;
  const upload = async (text: string, purpose = "batch") => {
    const form = new FormData();
    form.append("purpose", purpose);
    form.append("file", new Blob([text]), "input.jsonl");
    const response = await fetch(`${edge.url}/v1/files`, { method: "POST", headers, body: form });
    return ((await response.json()) as { id: string }).id;
  };
  const create = (fileId: string, fields: object = {}) =>
    edge.post("/v1/batches", { input_file_id: fileId, endpoint: "/v1/chat/completions", completion_window: "24h", ...fields }, headers);
  const batchOf = async (text: string, fields: object = {}) => {
    const response = await create(await upload(text), fields);
    expect(response.status).toBe(200);
    return (await response.json()) as BatchObject;
  };
  const wait = async (id: string, isDone: (batch: BatchObject) => boolean = ({ status }) => ENDS.includes(status)) => {
    for (let turn = 0; turn < 1200; turn++) {
      const batch = await get<BatchObject>(`/v1/batches/${id}`);
      if (isDone(batch)) return batch;
      await delay(25);
    }
    throw new Error("the batch does not come to an end");
  };
  const lines = async (fileId: string | null): Promise<OutputLine[]> => {
    if (fileId === null) return [];
    const text = await (await fetch(`${edge.url}/v1/files/${fileId}/content`, { headers })).text();
    return text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as OutputLine);
  };
  const cancel = (id: string) => edge.post(`/v1/batches/${id}/cancel`, "", headers);
  return { headers, get, upload, create, batchOf, wait, lines, cancel };
}

interface OutputLine {
  id: string;
  custom_id: string;
  response: {
    status_code: number;
    request_id: string;
    body: { choices: { message: { content: string } }[]; error: { code: string } };
  } | null;
  error: { code: string } | null;
}

const ENDS: readonly string[] = ["completed", "failed", "expired", "cancelled"];
const line = (id: string, content: string, fields: object = {}) =>
  JSON.stringify({
    custom_id: id,
    method: "POST",
    url: "/v1/chat/completions",
    body: { model: "echo", messages: [{ role: "user", content }], ...fields },
  });
const many = (count: number) => Array.from({ length: count }, (_, index) => line(`id-${index}`, `say ${index}`)).join("\n");

const slow =
  (milliseconds: number, calls = { count: 0 }): Send =>
  async (request, signal) => {
    calls.count++;
    await delay(milliseconds, undefined, { signal: abortSignalOf(signal) });
    return echoUpstream(request, signal);
  };

/** An upstream that gives one answer to everybody. */
const answering =
  (answer: (url: string) => object): Send =>
  async ({ url }) => ({
    status: 200,
    headers: { "content-type": "application/json" },
    body: (async function* () {
      yield Buffer.from(JSON.stringify(answer(url)));
    })(),
  });

test("every line of a batch is answered under its custom_id and paid like a call; what failed is in the error file", async () => {
  const { batchOf, wait, lines, get, control } = await open();
  const text = `${many(250)}\n\n${line("bad", "x", { model: "nobody" })}\n${line("worse", "x", { temperature: "hot" })}\n`;
  const created = await batchOf(text, { metadata: { purpose: "test" } });
  expect(created).toMatchObject({ object: "batch", status: "validating", metadata: { purpose: "test" }, errors: null });
  expect(created.expires_at).toBe(created.created_at + 86_400);
  const done = await wait(created.id);
  expect(done).toMatchObject({ status: "completed", request_counts: { total: 252, completed: 250, failed: 2 } });
  for (const at of ["in_progress_at", "finalizing_at", "completed_at"] as const) expect(done[at]).toBeGreaterThanOrEqual(done.created_at);
  const answers = await lines(done.output_file_id);
  expect(answers.map(({ custom_id: id }) => id).toSorted()).toEqual(Array.from({ length: 250 }, (_, index) => `id-${index}`).toSorted());
  for (const { custom_id: id, response, error } of answers) {
    expect([response?.status_code, error]).toEqual([200, null]);
    expect(response?.body.choices[0]?.message.content).toBe(`say ${id.slice(3)}`);
  }
  const errors = await lines(done.error_file_id);
  expect(Object.fromEntries(errors.map((error) => [error.custom_id, error.response?.status_code]))).toEqual({ bad: 404, worse: 422 });
  const paid = [...control.settled.values()].filter(({ cost }) => cost > 0n);
  expect(new Set(paid.map(({ onceFor }) => onceFor)).size).toBe(250);
  expect(paid).toHaveLength(250);
  const file = await get<{ purpose: string; filename: string }>(`/v1/files/${done.output_file_id}`);
  expect(file).toMatchObject({ purpose: "batch_output", filename: `${done.id}_output.jsonl` });
  const parts = await control.records.list("team_1", "batch_part", { parentId: done.id, order: "asc", limit: 10 });
  expect(parts.records).toEqual([]);
});

test("embeddings and completions are batched too, each in the format of its own path", async () => {
  const control = new FakeControl();
  control.deployments = ["davinci", "ada"].map((modelName) =>
    deployment({ modelName, providerKind: "openai", inferenceModelId: modelName, baseUrl: "http://upstream.test/v1", apiKey: "k" }),
  );
  const { batchOf, wait, lines } = await open(
    answering((url) =>
      url.endsWith("/embeddings")
        ? { data: [{ index: 0, embedding: [0.5, 1] }], usage: { prompt_tokens: 2, total_tokens: 2 } }
        : {
            choices: [{ index: 0, text: "said", finish_reason: "stop" }],
            usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
          },
    ),
    control,
  );
  const cases = [
    {
      endpoint: "/v1/completions",
      body: { model: "davinci", prompt: "say" },
      answer: { object: "text_completion", choices: [{ text: "said" }] },
    },
    { endpoint: "/v1/embeddings", body: { model: "ada", input: "say" }, answer: { object: "list", data: [{ embedding: [0.5, 1] }] } },
  ];
  for (const { endpoint, body, answer } of cases) {
    const text = JSON.stringify({ custom_id: "c", method: "POST", url: endpoint, body });
    const done = await wait((await batchOf(text, { endpoint })).id);
    expect(done).toMatchObject({ status: "completed", request_counts: { total: 1, completed: 1 } });
    expect(await lines(done.output_file_id)).toMatchObject([{ custom_id: "c", response: { status_code: 200, body: answer } }]);
  }
});

test("answers that are too large for one record come whole", async () => {
  const content = "ü".repeat(900_000);
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
  const large = { choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }], usage };
  const { batchOf, wait, lines } = await open(answering(() => large));
  const done = await wait((await batchOf(many(3))).id);
  const answers = await lines(done.output_file_id);
  expect(answers.map(({ response }) => response?.body.choices[0]?.message.content === content)).toEqual([true, true, true]);
});

test("a file with faults fails as a whole, each fault with its line, and nothing is called", async () => {
  const { batchOf, wait, control } = await open();
  const failed = await wait((await batchOf(`${line("a", "x")}\nnot json\n${line("a", "y")}`)).id);
  expect(failed).toMatchObject({ status: "failed", output_file_id: null, request_counts: { total: 0 } });
  expect(failed.errors?.data.map(({ line: at, code }) => [at, code])).toEqual([
    [2, "invalid_json_line"],
    [3, "duplicate_custom_id"],
  ]);
  expect(control.settled.size).toBe(0);
});

test("what cannot be a batch is refused at once, and another team's ids are not there", async () => {
  const { create, upload, batchOf, cancel, wait, edge, control } = await open();
  const fileId = await upload(line("a", "x"));
  const other = clientOf(edge, control.addKey({ teamId: "team_2" }).secret);
  const statuses = [
    (await create("file-nope")).status,
    (await other.create(fileId)).status,
    (await create(await upload("x", "assistants"))).status,
    (await create(fileId, { endpoint: "/v1/images/generations" })).status,
    (await create(fileId, { completion_window: "1h" })).status,
  ];
  expect(statuses).toEqual([404, 404, 400, 422, 422]);
  const { id } = await batchOf(line("a", "x"));
  expect((await other.cancel(id)).status).toBe(404);
  expect(await other.get(`/v1/batches/${id}`)).toMatchObject({ error: { type: "not_found_error" } });
  expect(await other.get("/v1/batches")).toMatchObject({ data: [], has_more: false });
  await wait(id);
  expect((await cancel(id)).status).toBe(400);
});

test("batches are listed newest first", async () => {
  const { batchOf, get, wait } = await open();
  const ids: string[] = [];
  for (const name of ["a", "b", "c"]) ids.push((await batchOf(line(name, "x"))).id);
  const page = await get<{ data: BatchObject[]; has_more: boolean }>("/v1/batches?limit=2");
  expect([page.data.map(({ id }) => id), page.has_more]).toEqual([[ids[2], ids[1]], true]);
  for (const id of ids) await wait(id);
});

test("a batch of an edge that stops is gone on with by another, where it was: every line is answered and paid once", async () => {
  const calls = { count: 0 };
  const first = await open(slow(40, calls));
  const { id } = await first.batchOf(many(200));
  await first.wait(id, ({ request_counts: { completed } }) => completed > 20);
  await first.edge.close();
  edges.splice(0);
  const before = calls.count;
  expect(before).toBeLessThan(200);
  const second = await open(slow(1, calls), first.control);
  const done = await second.wait(id);
  expect(done).toMatchObject({ status: "completed", request_counts: { total: 200, completed: 200, failed: 0 } });
  const answers = await second.lines(done.output_file_id);
  expect(new Set(answers.map(({ custom_id: name }) => name)).size).toBe(200);
  expect(answers).toHaveLength(200);
  // What was under way when the edge stopped was broken off, unpaid, and made again.
  expect(calls.count).toBeLessThanOrEqual(208);
  const paid = [...first.control.settled.values()].filter(({ cost }) => cost > 0n).map(({ onceFor }) => onceFor);
  expect([paid.length, new Set(paid).size]).toEqual([200, 200]);
}, 60_000);

test("a canceled batch ends within seconds, makes no more calls, and keeps its answers", async () => {
  const calls = { count: 0 };
  const { batchOf, wait, cancel, lines } = await open(slow(50, calls));
  const { id } = await batchOf(many(2000));
  await wait(id, ({ request_counts: { completed } }) => completed > 10);
  const startedMs = performance.now();
  expect(await (await cancel(id)).json()).toMatchObject({ status: "cancelling", cancelling_at: expect.any(Number) });
  const ended = await wait(id);
  expect(performance.now() - startedMs).toBeLessThan(5000);
  expect(ended).toMatchObject({ status: "cancelled", cancelled_at: expect.any(Number) });
  const called = calls.count;
  await delay(300);
  expect(calls.count).toBe(called);
  expect(called).toBeLessThan(2000);
  expect(await lines(ended.output_file_id)).toHaveLength(ended.request_counts.completed);
  expect(await (await cancel(id)).json()).toMatchObject({ status: "cancelled" });
});

test("a rate limit is waited for", async () => {
  const { batchOf, wait, control } = await open();
  control.refuseReserve = new AppError("RATE_LIMIT_EXCEEDED", "Too many requests.", { retryAfterSeconds: 1 });
  const { id } = await batchOf(many(5));
  await delay(700);
  control.refuseReserve = undefined;
  expect(await wait(id)).toMatchObject({ status: "completed", request_counts: { completed: 5, failed: 0 } });
});

test("without credit a line fails and says so", async () => {
  const control = new FakeControl();
  control.balance = 0n;
  const { batchOf, wait, lines } = await open(undefined, control);
  const poor = await wait((await batchOf(many(5))).id);
  expect(poor).toMatchObject({ status: "completed", request_counts: { completed: 0, failed: 5 }, output_file_id: null });
  const errors = await lines(poor.error_file_id);
  expect(errors.map(({ response }) => [response?.status_code, response?.body.error.code])).toEqual(
    Array.from({ length: 5 }, () => [429, "QUOTA_EXCEEDED"]),
  );
});

test("a batch whose key is revoked makes no more calls", async () => {
  const calls = { count: 0 };
  const { batchOf, wait, control, caller, edge } = await open(slow(30, calls));
  const { id } = await batchOf(many(400));
  await wait(id, ({ request_counts: { completed } }) => completed > 5);
  for (const [hash, known] of control.callers) if (known.keyId === caller.keyId) control.callers.delete(hash);
  edge.worker.refresh(id);
  const client = clientOf(edge, control.addKey().secret);
  const done = await client.wait(id);
  expect(done.status).toBe("completed");
  expect(done.request_counts).toMatchObject({ total: 400, completed: calls.count });
  expect(done.request_counts.failed).toBe(400 - calls.count);
  expect(calls.count).toBeLessThan(400);
  const [error] = await client.lines(done.error_file_id);
  expect(error?.response).toMatchObject({ status_code: 401, body: { error: { code: "invalid_api_key" } } });
});
