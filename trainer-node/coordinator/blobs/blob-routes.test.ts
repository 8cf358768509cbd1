import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock as clock } from "../../../common/clock.ts";
import { silentLogger } from "../../../common/logger.ts";
import { systemRandom as random } from "../../../common/random.ts";
import { type RunningServer, startServer } from "../../server.ts";
import { createCoordinatorApp } from "../http.ts";
import { createJoinedWork, type JoinedWork, membersOf } from "../participants/joined-work.ts";
import { type BlobFolder, openBlobFolder } from "./blob-folder.ts";

const LIMIT = 100;
const ANN = { "x-gw-tenant": "org_ann" };
const BOB = { "x-gw-tenant": "org_bob" };
const signal = new AbortController().signal;
let folder: string;
let blobs: BlobFolder;
let work: JoinedWork;
let server: RunningServer;
let stopping: AbortController;
beforeEach(async () => {
  stopping = new AbortController();
  folder = mkdtempSync(join(tmpdir(), "tributary-blob-routes-"));
  blobs = openBlobFolder({ folder, bytesMax: 80, bytesMaxPerTenant: LIMIT });
  work = createJoinedWork({ clock });
  const unused = () => Promise.reject(new Error("not in this test"));
  const app = createCoordinatorApp({
    ...{ blobs, folder: blobs, self: "co_1", work, clock, random, logger: silentLogger, token: undefined },
    ...{ verify: unused, replay: unused, participants: { capabilities: unused }, functions: { serve: unused, servers: unused } },
    health: () => ({ status: "ok" }),
    state: () => (stopping.signal.aborted ? "stopping" : "ready"),
    stopping: stopping.signal,
  });
  server = await startServer(app, { host: "127.0.0.1", port: 0 });
});
afterEach(async () => {
  await server.stop();
  rmSync(folder, { recursive: true });
});

const digestOf = (text: string) => createHash("sha256").update(text).digest("hex");
async function ask(method: string, path: string, { headers = {}, body }: { headers?: object; body?: string } = {}) {
  const answer = await fetch(`http://127.0.0.1:${server.port}${path}`, {
    method,
    headers: { ...headers },
    ...(body === undefined ? {} : { body }),
  });
  return { status: answer.status, text: await answer.text() };
}
const statusOf = async (...asked: Parameters<typeof ask>) => (await ask(...asked)).status;
const put = (text: string, headers: object) => ask("PUT", `/v1/blobs/${digestOf(text)}`, { headers, body: text });

test("a tenant reads and deletes what it uploaded or what its federations made; another's hash is worth nothing", async () => {
  expect((await put("ann's", ANN)).status).toBe(201);
  expect((await put("ann's", ANN)).status).toBe(200);
  const { sha256: made } = await blobs.of("org_ann").keepBytes(Buffer.from("made for ann"));
  for (const digest of [digestOf("ann's"), made]) {
    const path = `/v1/blobs/${digest}`;
    expect([await statusOf("GET", path, { headers: ANN }), await statusOf("GET", path)]).toEqual([200, 200]);
    for (const method of ["GET", "HEAD", "DELETE"]) expect(await statusOf(method, path, { headers: BOB })).toBe(404);
  }
  const used = async (headers: object) => JSON.parse((await ask("GET", "/v1/storage", { headers })).text);
  expect(await used(ANN)).toEqual({ used_bytes: 17, limit_bytes: LIMIT });
  expect(await used(BOB)).toEqual({ used_bytes: 0, limit_bytes: LIMIT });
  expect(await statusOf("DELETE", `/v1/blobs/${digestOf("ann's")}`, { headers: ANN })).toBe(204);
  expect(await statusOf("GET", `/v1/blobs/${digestOf("ann's")}`, { headers: ANN })).toBe(404);
  // What a federation made is its record's, so that only the sweep removes it.
  expect(await statusOf("DELETE", `/v1/blobs/${made}`, { headers: ANN })).toBe(404);
  expect(await used(ANN)).toEqual({ used_bytes: 12, limit_bytes: LIMIT });
});

test("what a federation hides counts for its tenant, which reads it only when it has the bytes itself, also after a restart", async () => {
  const { sha256 } = await blobs.of("org_ann", "hidden").keepBytes(Buffer.from("an update"));
  for (const method of ["GET", "HEAD", "DELETE"]) expect(await statusOf(method, `/v1/blobs/${sha256}`, { headers: ANN })).toBe(404);
  const again = openBlobFolder({ folder, bytesMax: 80, bytesMaxPerTenant: LIMIT });
  expect([again.owners.use("org_ann").used, again.owners.owns("org_ann", sha256)]).toEqual([9, false]);
  expect((await put("an update", ANN)).status).toBe(201);
  expect(await statusOf("GET", `/v1/blobs/${sha256}`, { headers: ANN })).toBe(200);
  expect(blobs.owners.use("org_ann").used).toBe(9);
});

test("an upload under another name, of too many bytes or beyond the tenant's limit leaves nothing", async () => {
  expect(await statusOf("PUT", `/v1/blobs/${digestOf("a")}`, { headers: ANN, body: "b" })).toBe(422);
  expect(await statusOf("PUT", "/v1/blobs/nonsense", { headers: ANN, body: "b" })).toBe(422);
  expect(await put("x".repeat(81), ANN)).toMatchObject({ status: 413, text: expect.stringContaining("COORDINATOR_BLOB_BYTES_MAX") });
  const uploads = await Promise.all(Array.from({ length: 8 }, (_, index) => put(`${index}`.repeat(30), ANN)));
  expect(uploads.map(({ status }) => status).sort()).toEqual([201, 201, 201, 413, 413, 413, 413, 413]);
  const refused = uploads.find(({ status }) => status === 413);
  expect(refused?.text).toContain(`the limit of ${LIMIT} (BLOBS_BYTES_MAX_PER_ORGANIZATION). Delete blobs`);
  expect((await put("bob's", BOB)).status).toBe(201);
  expect(readdirSync(folder).filter((name) => name !== ".owners")).toHaveLength(4);
});

describe("a joined participant", () => {
  const federation = { id: "fed_1", participants: [{ id: "p1", url: "", tenantId: "org_ann" }] } as Parameters<typeof membersOf>[0];
  const [member] = membersOf(federation);
  const task = (parameters: string) => ({ parameters, dataset: null, config: {}, key: "k", roundId: "r", clientId: "p1" });

  test("reads the parameters that its task names, and nothing else that is here", async () => {
    const [{ sha256: base }, { sha256: other }] = [await blobs.keepBytes(Buffer.from("base")), await blobs.keepBytes(Buffer.from("other"))];
    const trained = member && work.participants.train(member, task(base), signal);
    const at = (place: string, digest: string) => statusOf("GET", `/v1/tasks/${place}/blobs/${digest}`, { headers: ANN });
    expect([await at("fed_1/p1", base), await at("fed_1/p1", other), await at("fed_1/p2", base), await at("fed_2/p1", base)]).toEqual([
      200, 404, 404, 404,
    ]);
    const id = (await work.next("fed_1/p1", { waitMs: 1000, signal, capabilities: new Set() }))?.id;
    expect(await statusOf("POST", `/v1/tasks/fed_1/p1/${id}`, { headers: ANN, body: "update" })).toBe(200);
    await expect(trained).resolves.toMatchObject({ blob: digestOf("update") });
    expect(await at("fed_1/p1", base)).toBe(404);
    expect(blobs.owners.use("org_ann").used).toBe(6);
  });

  test("whose federation has no room for its update fails with the reason", async () => {
    const { sha256: base } = await blobs.of("org_ann").keepBytes(Buffer.from("x".repeat(50)));
    const trained = member && work.participants.train(member, task(base), signal);
    const id = (await work.next("fed_1/p1", { waitMs: 1000, signal, capabilities: new Set() }))?.id;
    const failure = expect(trained).rejects.toThrow("it failed: Your organization has 50 bytes of blobs here");
    expect(await statusOf("POST", `/v1/tasks/fed_1/p1/${id}`, { headers: ANN, body: "y".repeat(60) })).toBe(413);
    await failure;
  });

  test("whose update is larger than any blob may be is refused for good, and its round does not wait for it", async () => {
    const trained = member && work.participants.train(member, task(""), signal);
    const id = (await work.next("fed_1/p1", { waitMs: 1000, signal, capabilities: new Set() }))?.id;
    const failure = expect(trained).rejects.toThrow("it failed: The result is too large: it sent more than 80 bytes");
    expect(await ask("POST", `/v1/tasks/fed_1/p1/${id}`, { headers: ANN, body: "y".repeat(81) })).toMatchObject({
      status: 413,
      text: expect.stringContaining("COORDINATOR_BLOB_BYTES_MAX"),
    });
    await failure;
    expect(blobs.owners.use("org_ann").used).toBe(0);
  });
});

test("a coordinator that stops is not ready but alive, and answers participants that wait for work, who then ask elsewhere", async () => {
  expect([await statusOf("GET", "/ready"), await statusOf("GET", "/health")]).toEqual([200, 200]);
  const asked = ask("GET", "/v1/tasks/fed_1/p1", { headers: ANN });
  stopping.abort();
  expect((await asked).status).toBe(204);
  expect(await ask("GET", "/ready")).toEqual({ status: 503, text: JSON.stringify({ status: "stopping" }) });
  expect(await statusOf("GET", "/health")).toBe(200);
  expect(await statusOf("GET", "/v1/tasks/fed_1/p1", { headers: ANN })).toBe(204);
});
