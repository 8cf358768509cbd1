import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { systemClock as clock } from "../common/clock.ts";
import { silentLogger } from "../common/logger.ts";
import type { JoinedTask } from "./coordinator/participants/joined-work.ts";
import { startJoining } from "./join-loop.ts";
import { startNode } from "./node-harness.ts";

const TASK = { id: "t1", parameters: null, dataset: null, config: {}, round_id: "fed_1/1", client_id: "p1" };
const TRAIN: JoinedTask = { ...TASK, operation: "train" };
const EVALUATE: JoinedTask = { ...TASK, operation: "evaluate" };

let folder: string;
let closing: (() => unknown)[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tributary-join-"));
  closing = [];
});
afterEach(async () => {
  for (const close of closing.reverse()) await close();
  rmSync(folder, { recursive: true, force: true });
});

async function listen(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  closing.push(() => server.close().closeAllConnections());
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

interface Result {
  readonly fields: Record<string, unknown>;
  readonly body: Buffer;
}

/**
 * Has the node at `own` do a task, and returns the results that it sends. As a coordinator does, the gateway gives the task until a result
 * is accepted, or is too late (409). `refusals` are its answers to the first results.
 */
async function resultsOf(
  own: string,
  task: JoinedTask,
  given: { refusals?: number[]; parameters?: Buffer | undefined } = {},
): Promise<Result[]> {
  const { refusals = [], parameters } = given;
  const results: Result[] = [];
  const finished = Promise.withResolvers<void>();
  let isOpen = true;
  const url = await listen(async (request, response) => {
    const { method, url: path = "", headers } = request;
    if (path === "/training/join") return void response.writeHead(201).end(JSON.stringify({ token: "join_own-place" }));
    if (path.startsWith("/training/join/blobs/")) return void response.end(parameters);
    if (method === "GET") return isOpen ? void response.end(JSON.stringify({ task })) : finished.resolve();
    results.push({ fields: JSON.parse(headers["x-result"] as string), body: await buffer(request) });
    const status = refusals.shift() ?? 200;
    isOpen = status !== 200 && status !== 409;
    response.writeHead(status).end(JSON.stringify({ error: { message: "no" } }));
  });
  const options = { url, joinToken: "join_own-place", tokenFolder: join(folder, "tokens"), name: "5000", capabilities: [] };
  const joining = startJoining({ ...options, own: { url: own, token: undefined }, clock, logger: silentLogger });
  closing.push(() => joining.stop());
  await finished.promise;
  return results;
}

test("a dataset of any size comes with the task, beside the parameters", async () => {
  const node = await startNode({ threads: 1 });
  closing.push(() => node.stop());
  const dataset = Array.from({ length: 900 }, (_, index) => ({ a: index % 2, label: index % 2 }));
  const [trained] = await resultsOf(node.url, { ...TRAIN, dataset });
  expect(trained).toMatchObject({ fields: { num_samples: 900 } });
  const [evaluated] = await resultsOf(node.url, { ...EVALUATE, dataset, parameters: "its-hash" }, { parameters: trained?.body });
  const { fields } = evaluated as Result;
  expect(fields).toMatchObject({ num_samples: 900, accuracy: expect.any(Number) });
  // The model was trained before: a new one does not know the labels.
  const { loss } = fields["metrics"] as { loss: number };
  expect(loss).toBeLessThan(0.6);
});

test("a call that the node's HTTP server refuses, without JSON, is a failure with its status", async () => {
  const own = await listen((_request, response) => void response.writeHead(431).end());
  expect(await resultsOf(own, TRAIN)).toMatchObject([{ fields: { error: "Error: the node answered 431" } }]);
});
