import { setTimeout as sleep } from "node:timers/promises";
import { NotFoundError, toFile } from "openai";
import type { Batch } from "openai/resources/batches";
import { type Bench, nodeClient, startBench } from "./bench.ts";
import { python, testCases, testScript } from "./cases.ts";

let bench: Bench;
beforeAll(async () => {
  bench = await startBench();
});
afterAll(() => bench?.stop());

const client = () => nodeClient(bench).openai;

const line = (id: string, model: string) =>
  JSON.stringify({
    ...{ custom_id: id, method: "POST", url: "/v1/chat/completions" },
    body: { model, messages: [{ role: "user", content: "hi" }] },
  });

async function untilEnded(id: string): Promise<Batch> {
  for (;;) {
    const batch = await client().batches.retrieve(id);
    if (["completed", "failed", "expired", "cancelled"].includes(batch.status)) return batch;
    await sleep(100);
  }
}

const upload = (text: string) =>
  toFile(Buffer.from(text), "requests.jsonl").then((file) => client().files.create({ file, purpose: "batch" }));

testCases("openai-node", {
  G16: async () => {
    const file = await upload([...Array.from({ length: 20 }, (_, index) => line(`id-${index}`, "oai")), line("bad", "nobody")].join("\n"));
    expect(file).toMatchObject({ object: "file", filename: "requests.jsonl", purpose: "batch", status: "processed" });
    expect(await client().files.retrieve(file.id)).toEqual(file);
    const listed: string[] = [];
    for await (const { id } of client().files.list({ limit: 1 })) listed.push(id);
    expect(listed).toContain(file.id);
    const created = await client().batches.create({
      ...{ input_file_id: file.id, endpoint: "/v1/chat/completions", completion_window: "24h", metadata: { for: "G16" } },
    } as const);
    expect(created).toMatchObject({ object: "batch", status: "validating", metadata: { for: "G16" } });
    const batch = await untilEnded(created.id);
    expect(batch).toMatchObject({ status: "completed", request_counts: { total: 21, completed: 20, failed: 1 } });
    const output = await (await client().files.content(batch.output_file_id ?? "")).text();
    const answers = output
      .trimEnd()
      .split("\n")
      .map((text) => JSON.parse(text) as { custom_id: string; response: { body: { object: string } } });
    expect(new Set(answers.map(({ custom_id: id }) => id)).size).toBe(20);
    expect(answers.every(({ response }) => response.body.object === "chat.completion")).toBe(true);
    const errors = await (await client().files.content(batch.error_file_id ?? "")).text();
    expect(JSON.parse(errors)).toMatchObject({ custom_id: "bad", response: { status_code: 404 } });
    expect((await client().batches.list({ limit: 5 })).data.map(({ id }) => id)).toContain(batch.id);
    const stranger = nodeClient(bench, { apiKey: bench.emptyKey }).openai;
    await expect(stranger.files.content(file.id)).rejects.toThrow(NotFoundError);
    await expect(stranger.batches.retrieve(batch.id)).rejects.toThrow(NotFoundError);
    expect(await client().files.delete(file.id)).toEqual({ id: file.id, object: "file", deleted: true });
    await expect(client().files.retrieve(file.id)).rejects.toThrow(NotFoundError);
  },
});

testScript({ client: "openai-python", ids: ["G16"], command: python("g_files.py"), bench: () => bench });

test("openai-node: a vector store is filled, polled, searched and deleted with the client's own helpers", async () => {
  const { vectorStores } = client();
  const store = await vectorStores.create({ name: "notes" });
  const file = await toFile(Buffer.from("Oslo is the capital of Norway."), "north.txt");
  const added = await vectorStores.files.uploadAndPoll(store.id, file, { pollIntervalMs: 100 });
  expect(added).toMatchObject({ object: "vector_store.file", status: "completed", last_error: null, vector_store_id: store.id });
  const found = await vectorStores.search(store.id, { query: "Oslo is the capital of Norway." });
  expect(found.data).toMatchObject([{ file_id: added.id, filename: "north.txt", content: [{ text: "Oslo is the capital of Norway." }] }]);
  const listed: string[] = [];
  for await (const { id } of vectorStores.files.list(store.id)) listed.push(id);
  expect(listed).toEqual([added.id]);
  expect(await vectorStores.retrieve(store.id)).toMatchObject({ status: "completed", file_counts: { completed: 1, total: 1 } });
  expect(await vectorStores.delete(store.id)).toMatchObject({ deleted: true });
  await expect(vectorStores.retrieve(store.id)).rejects.toThrow(NotFoundError);
});
