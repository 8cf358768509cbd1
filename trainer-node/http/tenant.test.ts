import { createHash } from "node:crypto";
import { servedId } from "../../common/training/trained-manifest.ts";
import { type Node, startNode } from "../node-harness.ts";

let node: Node;
beforeAll(async () => {
  node = await startNode({ threads: 2 });
});
afterAll(() => node.stop());

const ROWS = [
  { a: 0, label: 0 },
  { a: 1, label: 1 },
];
const ANN = { "x-gw-tenant": "org_ann" };
const BOB = { "x-gw-tenant": "org_bob" };

async function ask(method: string, path: string, { body, headers = {} }: { body?: object; headers?: Record<string, string> } = {}) {
  const response = await fetch(node.url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === "" ? undefined : JSON.parse(text) };
}

test("an Idempotency-Key is its tenant's: another's call under it is a call of its own", async () => {
  const key = { "idempotency-key": "1" };
  const first = await ask("POST", "/train", { body: { dataset: ROWS }, headers: { ...ANN, ...key } });
  const others = await ask("POST", "/train", { body: { dataset: [...ROWS, ...ROWS] }, headers: { ...BOB, ...key } });
  expect([first.status, others.status]).toEqual([200, 200]);
  const same = await ask("POST", "/train", { body: { dataset: ROWS }, headers: { ...ANN, ...key } });
  expect(same.headers.get("idempotent-replayed")).toBe("true");
  expect(same.body).toEqual(first.body);
  expect((await ask("POST", "/train", { body: { dataset: ROWS }, headers: key })).headers.get("idempotent-replayed")).toBeNull();
});

test("a round that one tenant closed is open to others, and they cannot open it again", async () => {
  expect((await ask("POST", "/v1/rounds/7/close", { headers: ANN })).body).toEqual({ round_id: "7", status: "closed" });
  expect((await ask("DELETE", "/v1/rounds/7/close", { headers: BOB })).status).toBe(200);
  const inRound = async (headers: Record<string, string>) =>
    (await ask("POST", "/train", { body: { dataset: ROWS, round_id: "7" }, headers })).status;
  expect([await inRound(ANN), await inRound(BOB), await inRound({})]).toEqual([409, 200, 200]);
});

test("no other tenant can see, follow, fetch or cancel a job; the node's operator sees all", async () => {
  const made = await ask("POST", "/train", { body: { dataset: ROWS }, headers: { ...ANN, prefer: "respond-async" } });
  const path = made.headers.get("location") ?? "";
  for (const [method, rest] of [
    ["GET", ""],
    ["DELETE", ""],
    ["GET", "/result"],
    ["GET", "/events"],
  ] as const) {
    expect(await ask(method, path + rest, { headers: BOB })).toMatchObject({ status: 404, body: { code: "JOB_NOT_FOUND" } });
  }
  expect((await ask("GET", path, { headers: ANN })).status).toBe(200);
  expect((await ask("GET", path)).status).toBe(200);
});

test("what is hidden for one tenant's sum is not there for another, nor for a coordinator that came by itself", async () => {
  const hidden = async (headers: Record<string, string>) =>
    (await ask("POST", "/v1/secure/round/p1/train", { body: { dataset: ROWS }, headers })).body.introduction;
  const anns = await hidden(ANN);
  expect(anns).toMatchObject({ id: "p1" });
  expect(await hidden(ANN)).toEqual(anns);
  const other = { body: { dataset: ROWS, config: { seed: 7 } }, headers: ANN };
  expect(await ask("POST", "/v1/secure/round/p1/train", other)).toMatchObject({ status: 409, body: { code: "IDEMPOTENCY_CONFLICT" } });
  expect(await hidden(BOB)).not.toEqual(anns);
  expect(await hidden({})).not.toEqual(anns);
});

test("a blob is there for the tenant that stored it and for the operator; for others its hash is worth nothing", async () => {
  const trained = await ask("POST", "/train", {
    body: { dataset: ROWS, config: { task: "softmax" }, format: "safetensors" },
    headers: ANN,
  });
  const bytes = Buffer.from(trained.body.parameters, "base64");
  const digest = createHash("sha256").update(bytes).digest("hex");
  const path = `/v1/blobs/${digest}`;
  expect((await fetch(node.url + path, { method: "PUT", body: bytes, headers: ANN })).status).toBe(201);
  const served = `/v1/serve/${servedId({ task: "softmax", blob: digest })}/moderations`;
  const uses = (headers: Record<string, string>) =>
    Promise.all([
      fetch(node.url + path, { headers }).then(({ status }) => status),
      fetch(node.url + path, { method: "HEAD", headers }).then(({ status }) => status),
      ask("POST", "/evaluate", { body: { dataset: ROWS, config: { task: "softmax" }, parameters_ref: digest }, headers }).then(
        ({ status }) => status,
      ),
      ask("POST", "/aggregate", { body: { parameters_refs: [digest] }, headers }).then(({ status }) => status),
    ]);
  const serves = async (headers: Record<string, string>) =>
    (await ask("POST", served, { body: { model: "m", input: "[1]" }, headers })).status;
  expect(await uses(BOB)).toEqual([404, 404, 404, 404]);
  expect(await ask("DELETE", path, { headers: BOB })).toMatchObject({ status: 404, body: { code: "BLOB_NOT_FOUND" } });
  expect(await uses(ANN)).toEqual([200, 200, 200, 200]);
  expect(await uses({})).toEqual([200, 200, 200, 200]);
  // Served models are for the gateway, which bills them.
  expect([await serves(BOB), await serves(ANN), await serves({})]).toEqual([403, 403, 200]);
  expect((await ask("GET", "/v1/storage", { headers: ANN })).body).toEqual({ used_bytes: bytes.byteLength, limit_bytes: 10_000_000 });
  expect((await ask("GET", "/v1/storage", { headers: BOB })).body).toEqual({ used_bytes: 0, limit_bytes: 10_000_000 });
  expect((await ask("DELETE", path, { headers: ANN })).status).toBe(204);
  expect((await fetch(node.url + path)).status).toBe(404);
});

test("paths in answers can be followed through the gateway in front of the node", async () => {
  const through = { "x-forwarded-prefix": "/training/nodes/node_1", prefer: "respond-async" };
  const made = await ask("POST", "/train", { body: { dataset: ROWS }, headers: through });
  expect(made.headers.get("location")).toBe(`/training/nodes/node_1/v1/jobs/${made.body.id}`);
  await (await fetch(`${node.url}/v1/jobs/${made.body.id}/events`)).text();
  const done = await ask("GET", `/v1/jobs/${made.body.id}`, { headers: through });
  expect(done.body).toMatchObject({ status: "succeeded", result_url: `/training/nodes/node_1/v1/jobs/${made.body.id}/result` });
  expect((await ask("GET", `/v1/jobs/${made.body.id}`)).body.result_url).toBe(`/v1/jobs/${made.body.id}/result`);
  const elsewhere = await ask("POST", "/train", {
    body: { dataset: ROWS },
    headers: { ...through, "x-forwarded-prefix": "//evil.example" },
  });
  expect(elsewhere.headers.get("location")).toBe(`/v1/jobs/${elsewhere.body.id}`);
});
