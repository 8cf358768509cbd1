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

describe("a result that does not fit its header as it is", () => {
  test.each([
    ["has a metric in Russian", { точность: 0.9 }, { metrics: { точность: 0.9 } }],
    ["has more metrics than a header", { note: "x".repeat(16_000) }, {}],
  ])("arrives with accuracy and samples: it %s", async (_case, metrics, shown) => {
    const own = await listen((_request, response) => {
      response.end(
        JSON.stringify({ accuracy: 0.5, num_samples: 2, metrics, format: "safetensors", seed: 1, warnings: ["w".repeat(9000)] }),
      );
    });
    const results = await resultsOf(own, EVALUATE);
    expect(results).toMatchObject([{ fields: { accuracy: 0.5, num_samples: 2, ...shown } }]);
    expect(results[0]?.fields).not.toHaveProperty("format");
  });

  test("arrives as the failure that it is", async () => {
    const error = "нет такого файла";
    const own = await listen((_request, response) => void response.writeHead(404).end(JSON.stringify({ error })));
    expect(await resultsOf(own, TRAIN)).toMatchObject([{ fields: { error: `Error: ${error}` } }]);
  });
});

describe("a result that the gateway does not accept", () => {
  let calls: (string | undefined)[];
  let own: string;
  beforeEach(async () => {
    calls = [];
    own = await listen(({ headers }, response) => {
      calls.push(headers["idempotency-key"] as string);
      response.setHeader("x-result", JSON.stringify({ num_samples: 1 })).end("update");
    });
  });
  const sent = (results: readonly Result[]) => results.map(({ fields, body }) => [String(body), fields["num_samples"]]);

  test("is not sent again if its round is closed", async () => {
    expect(sent(await resultsOf(own, TRAIN, { refusals: [409] }))).toEqual([["update", 1]]);
  });

  test("is sent again, under the same key, once the gateway is there again", async () => {
    const results = await resultsOf(own, TRAIN, { refusals: [502, 503] });
    expect(sent(results)).toEqual([
      ["update", 1],
      ["update", 1],
      ["update", 1],
    ]);
    expect(calls).toEqual(["t1", "t1", "t1"]);
  });

  test("is a failure with the reason if it would be refused again, so that its round does not wait", async () => {
    const results = await resultsOf(own, TRAIN, { refusals: [413] });
    expect(results).toHaveLength(2);
    expect(results[1]?.fields["error"]).toContain("the gateway answered 413 to the result");
    expect(calls).toEqual(["t1"]);
  });

  test("is sent with longer and longer pauses", async () => {
    const startedMs = clock.monotonicMs();
    await resultsOf(own, TRAIN, { refusals: [413, 413, 413, 413] });
    expect(calls).toHaveLength(3);
    // Half a second, then a second.
    expect(clock.monotonicMs() - startedMs).toBeGreaterThan(1450);
  });
});
