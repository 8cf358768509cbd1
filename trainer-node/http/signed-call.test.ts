import { createHmac, hash } from "node:crypto";
import { join } from "node:path";
import { systemClock as clock } from "../../common/clock.ts";
import { systemRandom as random } from "../../common/random.ts";
import { SIGNATURE_HEADERS, signatureOf } from "../../common/training/call-signature.ts";
import { createApp } from "../app.ts";
import { readCapabilities } from "../coordinator/participants/capabilities.ts";
import { createNodeCalls, readAnswer } from "../coordinator/participants/node-call.ts";
import { type Node, startNode } from "../node-harness.ts";
import { createUsedNonces } from "./signed-call.ts";

const SECRET = "a secret of one federation";
const TOKEN = "a-token-of-the-operator";
const BODY = JSON.stringify({ dataset: "digits", config: { epochs: 1 } });

let node: Node;
let guarded: Node;
beforeAll(async () => {
  [node, guarded] = await Promise.all([startNode({ secret: SECRET, threads: 1 }), startNode({ secret: SECRET, token: TOKEN, threads: 1 })]);
}, 60_000);
afterAll(() => Promise.all([node?.stop(), guarded?.stop()]));

let calls = 0;
function signed(
  change: Partial<{
    secret: string;
    method: string;
    path: string;
    timestamp: string;
    nonce: string;
    headers: Record<string, string>;
    body: string;
  }> = {},
): Record<string, string> {
  const { secret = SECRET, method = "POST", path = "/v1/train", timestamp = String(Date.now()), body = BODY } = change;
  const { nonce = `nonce ${calls++}`, headers: more = {} } = change;
  const bodySha256 = hash("sha256", body, "hex");
  const headers = { "content-type": "application/json", ...more };
  return {
    ...headers,
    [SIGNATURE_HEADERS.signature]: signatureOf(secret, { method, path, timestamp, nonce, headers, bodySha256 }),
    [SIGNATURE_HEADERS.nonce]: nonce,
    [SIGNATURE_HEADERS.timestamp]: timestamp,
    [SIGNATURE_HEADERS.bodySha256]: bodySha256,
  };
}

async function send(headers: Record<string, string>, body: string = BODY): Promise<{ status: number; error: string }> {
  const answer = await fetch(`${node.url}/v1/train`, { method: "POST", headers, body });
  const { error = "" } = (await answer.json()) as { error?: string };
  return { status: answer.status, error };
}

test("a call that the coordinator signed is worked on, once", async () => {
  const headers = signed();
  expect((await send(headers)).status).toBe(200);
  expect(await send(headers)).toEqual({ status: 401, error: "The nonce of this call was used before." });
}, 30_000);

test("unsigned, signed with another secret or for another path, out of time or with another body, it is refused", async () => {
  expect((await send({})).status).toBe(401);
  expect((await send(signed({ secret: "the secret of another" }))).error).toContain("signature of this call is missing or wrong");
  expect((await send(signed({ path: "/v1/evaluate" }))).error).toContain("signature of this call is missing or wrong");
  expect((await send(signed({ timestamp: String(Date.now() - 400_000) }))).error).toContain("Synchronize the clocks");
  expect((await send(signed({ timestamp: "soon" }))).error).toContain("Synchronize the clocks");
  expect((await send(signed({ timestamp: `0x${Date.now().toString(16)}` }))).error).toContain("Synchronize the clocks");
  expect((await send(signed(), BODY.replace("1", "2"))).error).toContain("not the one that was signed");
}, 30_000);

test("N1: the fields of an octet call are signed: with another seed, type, tenant or key it is refused, and nothing is used up", async () => {
  const config = (seed: number) => JSON.stringify({ dataset: "digits", config: { epochs: 1, seed } });
  const octets = { "content-type": "application/octet-stream", accept: "application/json" };
  const headers = { ...octets, "x-train-config": config(1), "idempotency-key": "k", "x-gw-tenant": "org_1" };
  const sent = signed({ headers, body: "" });
  for (const change of [
    { "x-train-config": config(2) },
    { "content-type": "application/json" },
    { "idempotency-key": "other" },
    { "x-gw-tenant": "org_2" },
  ])
    expect(await send({ ...sent, ...change }, "")).toMatchObject({ status: 401, error: expect.stringContaining("missing or wrong") });
  expect(await send(sent, "")).toMatchObject({ status: 200 });
}, 30_000);

test("a call that was accepted before a restart is refused after it, and a new signature is accepted", async () => {
  const headers = signed();
  expect((await send(headers)).status).toBe(200);
  const restarted = await startNode({ secret: SECRET, threads: 1 });
  try {
    const again = await fetch(`${restarted.url}/v1/train`, { method: "POST", headers, body: BODY });
    expect([again.status, Number(again.headers.get("retry-after")) >= 1, await again.json()]).toEqual([
      401,
      true,
      expect.objectContaining({ error: "The call was signed before this node started. Sign it again." }),
    ]);
    const anew = await fetch(`${restarted.url}/v1/train`, { method: "POST", headers: signed(), body: BODY });
    expect(anew.status).toBe(200);
  } finally {
    await restarted.stop();
  }
}, 60_000);

test("the timestamp of a sender whose clock is ahead outlives a restart: no call that was accepted before is signed late enough", () => {
  const file = join(node.folder, "state", "signed-until");
  const at = (now: number) => createUsedNonces({ clock: { ...clock, now: () => now }, file });
  const first = at(1_000_000);
  expect(first.signedFrom).toBe(1_000_000);
  expect([first.take("a", 1_000_000), first.take("b", 1_200_000), first.take("c", 1_100_000), first.take("b", 1_300_000)]).toEqual([
    true,
    true,
    true,
    false,
  ]);
  expect(at(1_000_500).signedFrom).toBe(1_200_001);
  expect(at(2_000_000).signedFrom).toBe(2_000_000);
});

test("a signature of version 1, which covers no headers, is refused with the advice to update", async () => {
  const sent = signed();
  const parts = ["POST", "/v1/train", sent[SIGNATURE_HEADERS.timestamp], sent[SIGNATURE_HEADERS.nonce], hash("sha256", BODY, "hex")];
  const old = `v1=${createHmac("sha256", SECRET).update(parts.join("\n")).digest("hex")}`;
  expect(await send({ ...sent, [SIGNATURE_HEADERS.signature]: old })).toMatchObject({
    status: 401,
    error: expect.stringContaining("Update the coordinator"),
  });
});

interface Layer {
  route?: { path: string | string[]; stack: { method?: string }[] };
  handle: { stack?: Layer[] };
}

/** Every method and path that the app has a handler for, with `x` for parameters. A handler of all methods counts as PATCH. */
function routesOf(layers: readonly Layer[]): string[] {
  return layers.flatMap(({ route, handle }) => {
    if (!route) return routesOf(handle.stack ?? []);
    const methods = new Set(route.stack.map(({ method }) => (method ?? "patch").toUpperCase()));
    return [route.path].flat().flatMap((path) => [...methods].map((method) => `${method} ${path.replaceAll(/:\w+/g, "x")}`));
  });
}

test("F8: every route but /health and /ready is refused without a signature or the token", async () => {
  const { router } = createApp(node.deps) as unknown as { router: { stack: Layer[] } };
  const routes = [...new Set(routesOf(router.stack)), "GET /unknown"];
  expect(routes).toEqual(
    expect.arrayContaining(["GET /metrics", "POST /v1/rounds/x/close", "PUT /v1/blobs/x", "GET /v1/jobs/x", "POST /v1/serve/x/embeddings"]),
  );
  const statuses = async (url: string) => {
    const entries = routes.map(async (route) => {
      const [method = "", path = ""] = route.split(" ");
      return [route, (await fetch(url + path, { method })).status] as const;
    });
    return Object.fromEntries(await Promise.all(entries));
  };
  const expected = Object.fromEntries(routes.map((route) => [route, 401]));
  const open = { "GET /health": 200, "PATCH /health": 405, "GET /ready": 200, "PATCH /ready": 405 };
  expect(await statuses(node.url)).toEqual({ ...expected, ...open });
  expect(await statuses(guarded.url)).toEqual({ ...expected, ...open });
});

test("signed, blobs, rounds and served models are available, with the body that was signed", async () => {
  const ask = async (method: string, path: string, { body = "", sent = body }: { body?: string; sent?: string } = {}) => {
    const answer = await fetch(node.url + path, {
      method,
      headers: signed({ method, path, body }),
      ...(method === "GET" || method === "DELETE" ? {} : { body: sent }),
    });
    return { status: answer.status, text: await answer.text() };
  };
  const blob = `/v1/blobs/${hash("sha256", "bytes", "hex")}`;
  expect((await ask("PUT", blob, { body: "bytes", sent: "other" })).status).toBe(422);
  expect((await ask("PUT", blob, { body: "bytes" })).status).toBe(201);
  expect(await ask("GET", blob)).toEqual({ status: 200, text: "bytes" });
  expect((await ask("DELETE", blob)).status).toBe(204);
  expect((await ask("POST", "/v1/rounds/r1/close")).status).toBe(200);
  const served = "/v1/serve/x/embeddings";
  expect((await ask("POST", served, { body: '{"input":"a"}', sent: '{"input":"b"}' })).status).toBe(401);
  expect((await ask("POST", served, { body: '{"input":"a"}' })).status).not.toBe(401);
});

test("a caller with the token reads metrics and closes rounds, but trains only with a signature, too", async () => {
  const ask = async (method: string, path: string, headers: Record<string, string> = {}) =>
    (
      await fetch(guarded.url + path, {
        method,
        headers: { authorization: `Bearer ${TOKEN}`, ...headers },
        ...(method === "POST" && { body: BODY }),
      })
    ).status;
  expect(await ask("GET", "/metrics")).toBe(200);
  expect(await ask("POST", "/v1/rounds/r1/close")).toBe(200);
  expect(await ask("POST", "/v1/train")).toBe(401);
  expect(await ask("POST", "/v1/train", signed())).toBe(200);
}, 30_000);

test("the coordinator signs its probes and its work for a node with a secret, and names a wrong one", async () => {
  const { call, close } = createNodeCalls({ clock, random, idleMs: 5000 });
  try {
    const { signal } = new AbortController();
    const at = (secret: string) => ({ url: node.url, secret, token: "", tenantId: "org_1" });
    const read = (secret: string) => readCapabilities(call, at(secret), signal);
    expect([...(await read(SECRET))]).toEqual(expect.arrayContaining(["clip", "mask"]));
    await expect(read("")).rejects.toMatchObject({ again: false, message: expect.stringContaining("token or secret") });
    const body = { type: "application/octet-stream", bytes: 0, sha256: hash("sha256", "", "hex"), content: new Uint8Array(0) };
    const headers = { "x-train-config": JSON.stringify({ dataset: "digits", config: { epochs: 1 } }), "idempotency-key": "k2" };
    const trained = await call(at(SECRET), { method: "POST", path: "/v1/train", headers, body }, signal);
    await readAnswer(trained, 1_000_000);
    expect(trained.status).toBe(200);
  } finally {
    await close();
  }
});
