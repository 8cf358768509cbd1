import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { type ClientRequest, type IncomingMessage, type OutgoingHttpHeaders, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setImmediate as turn } from "node:timers/promises";
import express from "express";
import { systemClock as clock } from "../../../common/clock.ts";
import { silentLogger } from "../../../common/logger.ts";
import { errorResponse } from "../../http/error-response.ts";
import { type RunningServer, startServer } from "../../server.ts";
import { type BlobFolder, openBlobFolder } from "../blobs/blob-folder.ts";
import { joinedRoutes } from "./joined-routes.ts";
import { createJoinedWork, type JoinedWork } from "./joined-work.ts";

const TENANT = "org_1";
const NODE = { url: "join:fed_1/p1", secret: "", token: "", tenantId: TENANT };
const MEBIBYTE = 1024 * 1024;
/** Of a model of a few bytes; what its updates may have is a margin of 16 MiB. */
const TOO_LARGE = 17 * MEBIBYTE;

let folder: string;
let blobs: BlobFolder;
let work: JoinedWork;
let server: RunningServer;
let ended: AbortController;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "tributary-joined-results-"));
  blobs = openBlobFolder({ folder, bytesMax: 100 * MEBIBYTE, bytesMaxPerTenant: 50 * MEBIBYTE });
  work = createJoinedWork({ clock });
  ended = new AbortController();
  const app = express().use(joinedRoutes({ work, blobs, stopping: ended.signal }), errorResponse(silentLogger));
  server = await startServer(app, { host: "127.0.0.1", port: 0 });
});
afterEach(async () => {
  ended.abort();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await turn();
}

const usedBytes = () => blobs.owners.use(TENANT).used;
const files = () => readdirSync(folder).filter((name) => name !== ".owners");

/** Begins a task of the participant, and returns its id and its outcome. */
async function begin(operation: "train" | "evaluate"): Promise<{ id: string; outcome: Promise<unknown> }> {
  const { sha256: parameters } = await blobs.keepBytes(Buffer.from("a model"));
  const task = { parameters, dataset: null, config: {}, key: "fed_1/1/p1", roundId: "fed_1/1", clientId: "p1" };
  const called: Promise<unknown> = work.participants[operation](NODE, task, ended.signal);
  const outcome = called.catch((thrown: Error) => thrown.message);
  const { id = "" } = (await work.next("fed_1/p1", { waitMs: 1000, signal: ended.signal, capabilities: new Set() })) ?? {};
  return { id, outcome };
}

/** Opens an upload, whose bytes the test writes. */
function upload(id: string, headers: OutgoingHttpHeaders = {}): { sent: ClientRequest; answer: Promise<string> } {
  const path = `/v1/tasks/fed_1/p1/${id}`;
  const sent = request({ port: server.port, host: "127.0.0.1", path, method: "POST", headers: { "x-gw-tenant": TENANT, ...headers } });
  const answer = once(sent, "response").then(async ([response]: IncomingMessage[]) => {
    const body = await text(response as IncomingMessage).catch(() => "");
    sent.destroy();
    return `${response?.statusCode} ${body}`;
  });
  // The coordinator closes the connection of an upload that it does not read to its end.
  sent.on("error", () => {});
  return { sent, answer };
}

test("bytes for a task that nothing waits for are refused and never stored", async () => {
  const { sent, answer } = upload("anything");
  sent.end(Buffer.alloc(MEBIBYTE));
  expect(await answer).toMatch(/^409 .*ROUND_CLOSED/);
  expect([usedBytes(), files()]).toEqual([0, []]);
});

test.each([
  ["announced", { "content-length": 200_000_000_000 }, 1],
  ["sent", {}, TOO_LARGE],
])("an update that is %s larger than any of its model is its participant's failure, and takes no room", async (_how, headers, bytes) => {
  const { id, outcome } = await begin("train");
  const { sent, answer } = upload(id, headers);
  sent.write(Buffer.alloc(bytes));
  expect(await answer).toMatch(/^413 .*its update has \d+ bytes or more, and those of this model have at most \d+/);
  expect(await outcome).toContain("it failed: The result is too large: its update has");
  await until(() => files().length === 1);
  expect(usedBytes()).toBe(0);
});

test("an upload ends with its task, and what has come of it takes no room any more", async () => {
  const { id, outcome } = await begin("train");
  const { sent, answer } = upload(id);
  sent.write(Buffer.alloc(MEBIBYTE));
  await until(() => files().length === 2);
  ended.abort();
  expect(await answer).toMatch(/^409 .*ROUND_CLOSED/);
  await outcome;
  await until(() => files().length === 1);
  expect(usedBytes()).toBe(0);
});

test("a participant has one upload of a task: a repeated one ends the one before it, and finishes the task", async () => {
  const { id, outcome } = await begin("train");
  const stalled = upload(id);
  stalled.sent.write(Buffer.alloc(MEBIBYTE));
  await until(() => files().length === 2);
  const repeated = upload(id, { "x-result": '{"num_samples":3}' });
  repeated.sent.end("update");
  expect(await repeated.answer).toBe('200 {"accepted":true}');
  expect(await stalled.answer).toMatch(/^409 .*ROUND_CLOSED/);
  expect(await outcome).toMatchObject({ bytes: 6, samples: 3 });
  await until(() => files().length === 2);
  expect(usedBytes()).toBe(6);
});

test.each([
  ["evaluate", '{"accuracy":0.5}', { accuracy: 0.5 }],
  ["train", '{"error":"no data"}', "it failed: no data"],
] as const)("a result of %s without an update (%s) stores no bytes", async (operation, fields, result) => {
  const { id, outcome } = await begin(operation);
  const { sent, answer } = upload(id, { "x-result": fields });
  sent.end(Buffer.alloc(MEBIBYTE));
  expect(await answer).toBe('200 {"accepted":true}');
  expect(await outcome).toEqual(typeof result === "string" ? result : expect.objectContaining(result));
  expect([usedBytes(), files().length]).toEqual([0, 1]);
});
