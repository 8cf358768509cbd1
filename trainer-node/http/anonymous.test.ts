import { createHash } from "node:crypto";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { type Node, startNode } from "../node-harness.ts";

const TOKEN = "a-token-made-at-the-start";
const GATEWAY = { authorization: `Bearer ${TOKEN}`, "x-gw-tenant": "org_ann" };
const OPERATOR = { authorization: `Bearer ${TOKEN}` };
/** Callers of the same machine that do not know the token, whatever else they send. */
const STRANGERS: Record<string, string>[] = [
  {},
  { "x-gw-tenant": "org_ann" },
  { "x-gw-tenant": "" },
  { authorization: "Bearer another-token-than-it-is", "x-gw-tenant": "org_ann" },
];
const ROWS = [
  { a: 0, label: 0 },
  { a: 1, label: 1 },
];

let node: Node;
beforeAll(async () => {
  node = await startNode({ threads: 1, token: TOKEN, anonymous: true });
});
afterAll(() => node.stop());

async function ask(
  method: string,
  path: string,
  { body, headers = {} }: { body?: object | string; headers?: Record<string, string> } = {},
) {
  const sent = typeof body === "object" ? JSON.stringify(body) : body;
  const response = await fetch(node.url + path, { method, headers, ...(sent !== undefined && { body: sent }) });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, code: /"code":"(\w+)"/.exec(text)?.[1] };
}

async function storeBlob(headers: Record<string, string>) {
  const bytes = `{"parameters of":"${Object.values(headers).join()}"}`;
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  expect((await ask("PUT", `/v1/blobs/${sha256}`, { body: bytes, headers })).status).toBe(201);
  return { path: `/v1/blobs/${sha256}`, sha256 };
}

test("the participant API is open to callers of its machine", async () => {
  for (const headers of STRANGERS) {
    expect((await ask("GET", "/v1/info", { headers })).status).toBe(200);
    expect((await ask("POST", "/train", { body: { dataset: ROWS }, headers })).status).toBe(200);
  }
});

test("without the token no job of an organization or of the operator can be seen or canceled", async () => {
  for (const owner of [GATEWAY, OPERATOR]) {
    const job = await ask("POST", "/train", { body: { dataset: ROWS }, headers: { ...owner, prefer: "respond-async" } });
    const path = job.headers.get("location") ?? "";
    for (const headers of STRANGERS)
      for (const [method, rest] of [
        ["GET", ""],
        ["GET", "/result"],
        ["GET", "/events"],
        ["DELETE", ""],
      ] as const)
        expect(await ask(method, path + rest, { headers })).toMatchObject({ status: 404, code: "JOB_NOT_FOUND" });
    expect((await ask("GET", path, { headers: owner })).status).toBe(200);
  }
});

test("without the token no blob of an organization or of the operator can be read, used or deleted", async () => {
  for (const owner of [GATEWAY, OPERATOR]) {
    const { path, sha256 } = await storeBlob(owner);
    for (const headers of STRANGERS) {
      expect(await ask("GET", path, { headers })).toMatchObject({ status: 404, code: "BLOB_NOT_FOUND" });
      const use = { dataset: ROWS, parameters_ref: `sha256:${sha256}` };
      expect(await ask("POST", "/evaluate", { body: use, headers })).toMatchObject({ status: 404, code: "BLOB_NOT_FOUND" });
      const sum = { parameters_refs: [`sha256:${sha256}`] };
      expect(await ask("POST", "/aggregate", { body: sum, headers })).toMatchObject({ status: 404, code: "BLOB_NOT_FOUND" });
      expect(await ask("DELETE", path, { headers })).toMatchObject({ status: 404, code: "BLOB_NOT_FOUND" });
    }
    expect((await ask("GET", path, { headers: owner })).status).toBe(200);
  }
});

test("an anonymous caller reads and deletes what anonymous callers stored", async () => {
  const { path } = await storeBlob({});
  expect((await ask("GET", path)).status).toBe(200);
  expect((await ask("DELETE", path, { headers: GATEWAY })).status).toBe(404);
  expect((await ask("DELETE", path)).status).toBe(204);
});

test("rounds and Idempotency-Keys of organizations are not those of callers without the token", async () => {
  await ask("POST", "/v1/rounds/7/close", { headers: GATEWAY });
  const inRound = { dataset: ROWS, round_id: "7" };
  const key = { "idempotency-key": "1" };
  expect((await ask("POST", "/train", { body: inRound, headers: GATEWAY })).status).toBe(409);
  expect((await ask("POST", "/train", { body: { dataset: ROWS }, headers: { ...GATEWAY, ...key } })).status).toBe(200);
  for (const headers of STRANGERS) {
    expect((await ask("DELETE", "/v1/rounds/7/close", { headers })).status).toBe(200);
    const own = await ask("POST", "/train", { body: { ...inRound, dataset: [...ROWS, ...ROWS] }, headers: { ...headers, ...key } });
    expect(own.status).toBe(200);
  }
  expect((await ask("POST", "/train", { body: inRound, headers: GATEWAY })).status).toBe(409);
});

test("served models are called by the gateway only", async () => {
  for (const headers of [...STRANGERS, GATEWAY])
    expect(await ask("POST", "/v1/serve/x/chat/completions", { body: {}, headers })).toMatchObject({ status: 403, code: "forbidden" });
  expect((await ask("POST", "/v1/serve/x/chat/completions", { body: {}, headers: OPERATOR })).status).not.toBe(403);
});

test("a page whose name leads to this machine is refused without the token", async () => {
  const statusOf = async (headers: Record<string, string>) => {
    const [answer] = (await once(request(`${node.url}/v1/info`, { headers }).end(), "response")) as [IncomingMessage];
    answer.resume();
    return answer.statusCode;
  };
  const page = { host: "evil.example:5000", origin: "http://evil.example:5000", "sec-fetch-site": "same-origin" };
  expect(await statusOf(page)).toBe(403);
  expect(await statusOf({ host: "trainer.internal:5000", ...OPERATOR })).toBe(200);
});
