import { FakeControl, startEdge, type TestEdge } from "../testing/edge-fixture.ts";

const control = new FakeControl();
const { secret } = control.addKey();
const other = control.addKey({ teamId: "team_2" });
let edge: TestEdge;
beforeAll(async () => {
  edge = await startEdge(control);
});
afterAll(() => edge.close());

const as = (key: string) => ({ authorization: `Bearer ${key}` });
const get = (path: string, key = secret) => fetch(edge.url + path, { headers: as(key) });

/** Parts in the order given: clients put the purpose before the file or after it. */
function upload(parts: readonly (readonly [string, string | Blob, string?])[], key = secret): Promise<Response> {
  const form = new FormData();
  for (const [name, value, filename] of parts) {
    if (typeof value === "string") form.append(name, value);
    else form.append(name, value, filename);
  }
  return fetch(`${edge.url}/v1/files`, { method: "POST", headers: as(key), body: form });
}

interface FileAnswer {
  id: string;
  filename: string;
}

async function uploaded(name: string, purpose: string, bytes = Buffer.from("hello")): Promise<FileAnswer> {
  const response = await upload([
    ["purpose", purpose],
    ["file", new Blob([bytes]), name],
  ]);
  expect(response.status).toBe(200);
  return (await response.json()) as FileAnswer;
}

test("a file comes back byte by byte, with its record, until it is deleted", async () => {
  const bytes = Buffer.alloc(1_400_000, "tributary \n\u0000");
  const response = await upload([
    ["file", new Blob([bytes]), "dätei (1).bin"],
    ["purpose", "user_data"],
    ["expires_after[anchor]", "created_at"],
    ["expires_after[seconds]", "3600"],
  ]);
  const file = (await response.json()) as FileAnswer & { created_at: number };
  expect(file).toEqual({
    id: expect.stringMatching(/^file-\w{33}$/),
    object: "file",
    bytes: bytes.length,
    created_at: expect.any(Number),
    expires_at: file.created_at + 3600,
    filename: "dätei (1).bin",
    purpose: "user_data",
    status: "processed",
  });
  expect(await (await get(`/files/${file.id}`)).json()).toEqual(file);
  const content = await get(`/v1/files/${file.id}/content`);
  expect(Buffer.from(await content.arrayBuffer()).equals(bytes)).toBe(true);
  expect(Object.fromEntries(content.headers)).toMatchObject({
    "content-type": "application/octet-stream",
    "content-length": String(bytes.length),
    "content-disposition": `attachment; filename="d_tei (1).bin"; filename*=UTF-8''d%C3%A4tei%20%281%29.bin`,
  });
  const deleted = await fetch(`${edge.url}/v1/files/${file.id}`, { method: "DELETE", headers: as(secret) });
  expect(await deleted.json()).toEqual({ id: file.id, object: "file", deleted: true });
  for (const path of [`/v1/files/${file.id}`, `/v1/files/${file.id}/content`]) expect((await get(path)).status).toBe(404);
});

test("the fields of a form have a limit together: they are in memory, where files are not", async () => {
  const fields = (count: number) => Array.from({ length: count }, (_, place) => [`f${place}`, "x".repeat(1_000_000)] as [string, string]);
  const send = async (count: number) => {
    const response = await upload([["purpose", "user_data"], ...fields(count), ["file", new Blob(["x"]), "a"]]);
    const { error } = (await response.json()) as { error?: { message: string } };
    return [response.status, error?.message];
  };
  expect(await send(3)).toEqual([413, expect.stringContaining("together")]);
  expect(await send(2)).toEqual([200, undefined]);
});

test("an invalid upload gets an error that says why, and nothing of it is stored", async () => {
  const before = control.records.contents.size;
  const blob = new Blob(["x"]);
  const tooLarge = new Blob([Buffer.alloc(3_000_001)]);
  const cases: [Response, number, string | null][] = [
    [await upload([["file", blob, "a"]]), 422, "purpose"],
    [
      await upload([
        ["file", blob, "a"],
        ["purpose", "fun"],
      ]),
      422,
      "purpose",
    ],
    [await upload([["purpose", "batch"]]), 400, "file"],
    [
      await upload([
        ["purpose", "batch"],
        ["other", blob, "a"],
      ]),
      400,
      "other",
    ],
    [
      await upload([
        ["purpose", "batch"],
        ["file", blob, "a"],
        ["expires_after[seconds]", "5"],
      ]),
      422,
      "expires_after[seconds]",
    ],
    [
      await upload([
        ["purpose", "batch"],
        ["file", tooLarge, "a"],
      ]),
      413,
      null,
    ],
    [await edge.post("/v1/files", { purpose: "batch" }, as(secret)), 415, null],
  ];
  for (const [response, status, param] of cases) {
    const { error } = (await response.json()) as { error: { param: string | null; message: string } };
    expect([response.status, error.param, error.message.length > 0]).toEqual([status, param, true]);
  }
  expect(control.records.contents.size).toBe(before);
  expect(((await (await get("/v1/files", other.secret)).json()) as { data: unknown[] }).data).toEqual([]);
});

test("another team's file is not there", async () => {
  const { id } = await uploaded("mine.txt", "assistants");
  for (const path of [`/v1/files/${id}`, `/v1/files/${id}/content`]) expect((await get(path, other.secret)).status).toBe(404);
  const deletion = await fetch(`${edge.url}/v1/files/${id}`, { method: "DELETE", headers: as(other.secret) });
  expect(deletion.status).toBe(404);
  expect((await get(`/v1/files/${id}`)).status).toBe(200);
});

test("files are listed newest first, in pages, by purpose", async () => {
  const list = async (query: string) => {
    const response = await get(`/v1/files?${query}`);
    const body = (await response.json()) as { data: FileAnswer[]; has_more: boolean; last_id: string | null };
    return response.status === 200
      ? { names: body.data.map(({ filename }) => filename), more: body.has_more, last: body.last_id }
      : response.status;
  };
  for (const index of [1, 2, 3]) {
    await uploaded(`v${index}`, "vision");
    await uploaded(`e${index}`, "evals");
  }
  expect(await list("purpose=vision")).toMatchObject({ names: ["v3", "v2", "v1"], more: false });
  expect(await list("purpose=vision&order=asc&limit=2")).toMatchObject({ names: ["v1", "v2"], more: true });
  const first = (await list("limit=2")) as { last: string };
  expect(first).toMatchObject({ names: ["e3", "v3"], more: true });
  expect(await list(`limit=2&after=${first.last}`)).toMatchObject({ names: ["e2", "v2"] });
  expect([await list("limit=0"), await list("limit=10001"), await list("order=up"), await list("after=nope")]).toEqual([
    400, 400, 400, 400,
  ]);
});
