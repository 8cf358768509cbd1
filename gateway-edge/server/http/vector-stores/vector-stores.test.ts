import type { SearchAnswer, StoreFileObject, VectorStoreObject } from "../../../schemas/stored/vector-stores.ts";
import { deployment, FakeControl, startEdge, type TestEdge } from "../testing/edge-fixture.ts";

let control: FakeControl;
let edge: TestEdge;
let headers: Record<string, string>;
beforeEach(async () => {
  control = new FakeControl();
  control.deployments = [deployment({ modelName: "echo" }), embeddingDeployment()];
  edge = await startEdge(control);
  headers = { authorization: `Bearer ${control.addKey().secret}` };
});
afterEach(() => edge.close());

function embeddingDeployment() {
  const made = deployment({ modelName: "vectors" });
  return { ...made, model: made.model && { ...made.model, type: "embedding" } };
}

async function ask<Body>(method: string, path: string, body?: object): Promise<{ status: number; body: Body }> {
  const json = body === undefined ? {} : { body: JSON.stringify(body) };
  const response = await fetch(`${edge.url}/v1/vector_stores${path}`, {
    method,
    headers: { ...headers, "content-type": "application/json" },
    ...json,
  });
  return { status: response.status, body: (await response.json()) as Body };
}

async function upload(text: string, name: string): Promise<string> {
  const form = new FormData();
  form.append("purpose", "assistants");
  form.append("file", new Blob([text]), name);
  const response = await fetch(`${edge.url}/v1/files`, { method: "POST", headers, body: form });
  return ((await response.json()) as { id: string }).id;
}

async function indexed(storeId: string): Promise<VectorStoreObject> {
  for (let turn = 0; turn < 500; turn++) {
    const { body } = await ask<VectorStoreObject>("GET", `/${storeId}`);
    if (body.status === "completed") return body;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error("the files are not indexed");
}

test("files of a store are indexed in the background, paid by the key, and found by what they say", async () => {
  const [north, south] = [
    await upload("Oslo is the capital of Norway.", "north.txt"),
    await upload("Bread needs flour and salt.", "south.txt"),
  ];
  const created = await ask<VectorStoreObject>("POST", "", { name: "atlas", file_ids: [north, south], metadata: { of: "test" } });
  expect(created).toMatchObject({
    status: 200,
    body: { object: "vector_store", name: "atlas", embedding_model: "vectors", status: "in_progress" },
  });
  const store = await indexed(created.body.id);
  expect(store.file_counts).toEqual({ in_progress: 0, completed: 2, failed: 0, cancelled: 0, total: 2 });
  expect(store.usage_bytes).toBeGreaterThan(0);
  const paid = control.made.filter(({ endpoint }) => endpoint === "/v1/vector_stores");
  expect(paid.map(({ status, model }) => [status, model])).toEqual([
    ["success", "vectors"],
    ["success", "vectors"],
  ]);
  const found = await ask<SearchAnswer>("POST", `/${store.id}/search`, { query: "Oslo is the capital of Norway.", max_num_results: 1 });
  expect(found.body).toMatchObject({
    object: "vector_store.search_results.page",
    data: [{ file_id: north, filename: "north.txt", content: [{ type: "text", text: "Oslo is the capital of Norway." }] }],
    has_more: false,
  });
  expect(found.body.data[0]?.score).toBeCloseTo(1, 5);
  expect(control.made.length).toBe(paid.length + 1);
});

test("a file that is added again, or again after it was removed, is indexed again and paid again", async () => {
  const id = await upload("Oslo is the capital of Norway.", "north.txt");
  const { body: store } = await ask<VectorStoreObject>("POST", "", { file_ids: [id] });
  await indexed(store.id);
  const smaller = { type: "static", static: { max_chunk_size_tokens: 100, chunk_overlap_tokens: 0 } };
  await ask("POST", `/${store.id}/files`, { file_id: id, chunking_strategy: smaller });
  await indexed(store.id);
  await ask("DELETE", `/${store.id}/files/${id}`);
  await ask("POST", `/${store.id}/files`, { file_id: id });
  await indexed(store.id);
  const keys = control.made.filter(({ endpoint }) => endpoint === "/v1/vector_stores").map(({ onceFor }) => onceFor);
  // What has one key is charged once.
  expect([keys.length, new Set(keys).size]).toEqual([3, 3]);
});

test("attributes of files filter a search, and can be changed", async () => {
  const { body: store } = await ask<VectorStoreObject>("POST", "", {});
  const files = [await upload("the same text", "a.txt"), await upload("the same text", "b.txt")];
  for (const [place, id] of files.entries()) {
    const added = await ask<StoreFileObject>("POST", `/${store.id}/files`, {
      file_id: id,
      attributes: { year: 2020 + place, kind: "note" },
    });
    expect(added).toMatchObject({ status: 200, body: { id, object: "vector_store.file", vector_store_id: store.id } });
  }
  await indexed(store.id);
  const search = async (filters: object) => {
    const { body } = await ask<SearchAnswer>("POST", `/${store.id}/search`, { query: "the same text", filters });
    return body.data.map(({ file_id: id }) => files.indexOf(id)).sort();
  };
  const newer = { type: "gt", key: "year", value: 2020 };
  expect(await search(newer)).toEqual([1]);
  expect(await search({ type: "and", filters: [newer, { type: "eq", key: "kind", value: "letter" }] })).toEqual([]);
  expect(await search({ type: "or", filters: [newer, { type: "in", key: "kind", value: ["note"] }] })).toEqual([0, 1]);
  await ask("POST", `/${store.id}/files/${files[0]}`, { attributes: { year: 2030 } });
  expect(await search(newer)).toEqual([0, 1]);
});

test("a file that is no text fails with its reason, and the store tells how many did", async () => {
  const { body: store } = await ask<VectorStoreObject>("POST", "", {});
  const id = await upload("\u0000\u0001", "x.bin");
  const batch = await ask<{ id: string }>("POST", `/${store.id}/file_batches`, { file_ids: [id] });
  expect(batch).toMatchObject({ status: 200, body: { object: "vector_store.files_batch", file_counts: { total: 1 } } });
  expect((await indexed(store.id)).file_counts).toMatchObject({ failed: 1, total: 1 });
  const failed = await ask("GET", `/${store.id}/files?filter=failed`);
  expect(failed.body).toMatchObject({ data: [{ id, status: "failed", last_error: { code: "unsupported_file" } }], has_more: false });
  expect((await ask("GET", `/${store.id}/file_batches/${batch.body.id}`)).body).toMatchObject({ status: "failed" });
});

test("what is removed is gone, with its chunks; other teams see nothing of a store", async () => {
  const id = await upload("some words", "a.txt");
  const { body: store } = await ask<VectorStoreObject>("POST", "", { file_ids: [id] });
  await indexed(store.id);
  expect((await ask("GET", `/${store.id}/files/${id}/content`)).body).toMatchObject({ data: [{ type: "text", text: "some words" }] });
  const own = headers;
  headers = { authorization: `Bearer ${control.addKey({ teamId: "team_2" }).secret}` };
  for (const [method, path] of [
    ["GET", `/${store.id}`],
    ["GET", `/${store.id}/files`],
    ["DELETE", `/${store.id}`],
  ] as const) {
    expect((await ask(method, path)).status).toBe(404);
  }
  headers = own;
  const removed = await ask("DELETE", `/${store.id}/files/${id}`);
  expect(removed.body).toEqual({ id, object: "vector_store.file.deleted", deleted: true });
  expect((await indexed(store.id)).usage_bytes).toBe(0);
  expect((await ask("DELETE", `/${store.id}`)).body).toEqual({ id: store.id, object: "vector_store.deleted", deleted: true });
  expect((await ask("GET", `/${store.id}`)).status).toBe(404);
});

test("a search counts as a use: a store that expires some days after its last use goes on, and is removed later than it expires", async () => {
  const days = 2;
  const { body: store } = await ask<VectorStoreObject>("POST", "", { expires_after: { anchor: "last_active_at", days } });
  expect(store.expires_at).toBe(store.last_active_at + days * 86_400);
  const record = await control.records.get<VectorStoreObject>("team_1", "vector_store", store.id);
  expect(record?.expiresAtMs).toBeGreaterThan((store.expires_at ?? 0) * 1000);
  const old = { ...store, last_active_at: store.last_active_at - 86_400, expires_at: (store.expires_at ?? 0) - 86_400 };
  const owner = { teamId: "team_1", organizationId: "org_1", keyId: "key_1" };
  await control.records.commit(owner, [{ type: "put", kind: "vector_store", id: store.id, body: old }]);
  expect((await ask("POST", `/${store.id}/search`, { query: "anything" })).status).toBe(200);
  expect((await ask<VectorStoreObject>("GET", `/${store.id}`)).body.expires_at).toBeGreaterThanOrEqual(store.expires_at ?? 0);
  const past = { ...old, expires_at: 1 };
  await control.records.commit(owner, [{ type: "put", kind: "vector_store", id: store.id, body: past }]);
  expect((await ask("GET", `/${store.id}`)).body).toMatchObject({ status: "expired" });
  expect((await ask("POST", `/${store.id}/search`, { query: "anything" })).status).toBe(400);
});

test.each([
  ["an embedding model that does not exist", { embedding_model: "none" }, "embedding_model"],
  ["a file that does not exist", { file_ids: ["file-none"] }, null],
])("%s is refused", async (_name, body, param) => {
  const refused = await ask<{ error: { param: string | null } }>("POST", "", body);
  expect([400, 404]).toContain(refused.status);
  expect(refused.body.error.param).toBe(param);
  expect((await ask("GET", "")).body).toMatchObject({ data: [] });
});
