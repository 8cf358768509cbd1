import { hash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { systemClock } from "../../../common/clock.ts";
import type { Participant } from "../../../proto/gen/tributary/training/v1/training.ts";
import { type BlobFolder, openBlobFolder } from "../blobs/blob-folder.ts";
import type { CallNode } from "../participants/node-call.ts";
import { ParticipantProblem } from "../participants/participant-problem.ts";
import { createFunctionCalls } from "./function-calls.ts";

const MODEL = Buffer.from("the parameters of a round");
const blob = hash("sha256", MODEL, "hex");
const signal = new AbortController().signal;

let folder: string;
let blobs: BlobFolder;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "tributary-function-calls-"));
  blobs = openBlobFolder({ folder, bytesMax: 1000, durable: false });
  await blobs.keepBytes(MODEL);
});
afterEach(() => rmSync(folder, { recursive: true }));

type Answer = { status: number; body: object } | ParticipantProblem;
type Answers = (request: { host: string; isWhole: boolean }) => Answer | Promise<Answer>;

const participant = (id: string, url: string): Participant => ({
  ...{ id, url, nodeId: "", organizationId: "org_a", dataset: "", joined: true, maxSamples: undefined },
  ...{ secret: "s", token: "", tenantId: "org_a" },
});

/** Two participants with addresses and one without; calls are answered by `answers`. */
function setUp(answers: Answers) {
  const asked: string[] = [];
  let nowMs = 0;
  const clock = { ...systemClock, monotonicMs: () => nowMs };
  let looks = 0;
  const call: CallNode = async ({ url }, { body, path }) => {
    const host = new URL(url).hostname;
    const isWhole = body?.type === "application/octet-stream" || body?.bytes === undefined || body.bytes > 9000;
    asked.push(`${host} ${path} ${isWhole ? "whole" : "hash"}`);
    const answer = await answers({ host, isWhole });
    if (answer instanceof ParticipantProblem) throw answer;
    return { status: answer.status, headers: {}, body: Readable.from([Buffer.from(JSON.stringify(answer.body))]) };
  };
  const participants = [participant("p1", "http://one"), participant("p2", "http://two"), participant("p3", "")];
  const functions = createFunctionCalls({
    ...{ call, blobs, clock },
    participants: {
      capabilities: async ({ url }) => {
        if (url === "http://two") throw new ParticipantProblem("it cannot be reached: ECONNREFUSED", { again: true });
        return new Set(url === "http://one" ? (["serve"] as const) : []);
      },
    },
    client: {
      getWork: async () => {
        looks++;
        return { federation: { participants } } as never;
      },
    },
  });
  const serve = (more: object = {}) =>
    functions.serve("fed_1", { participants: ["p1", "p2"], blob, input: "x", config: {}, ...more }, signal);
  const advance = (milliseconds: number) => {
    nowMs += milliseconds;
  };
  return { functions, serve, asked, advance, looks: () => looks };
}

const missing = { status: 404, body: { code: "BLOB_NOT_FOUND", error: "none" } };
const done = { status: 200, body: { output: "answer" } };

test("a node gets the parameters when it has none, and their hash afterwards; nodes take turns", async () => {
  const has = new Set<string>();
  const { serve, asked } = setUp(({ host, isWhole }) => {
    if (isWhole) has.add(host);
    return has.has(host) ? done : missing;
  });
  for (let count = 0; count < 4; count++) expect(await serve()).toBe("answer");
  expect(asked).toEqual([
    ...["two /v1/serve hash", "two /v1/serve whole", "one /v1/serve hash", "one /v1/serve whole"],
    ...["two /v1/serve hash", "one /v1/serve hash"],
  ]);
});

test("calls that come while parameters are on their way wait for them instead of sending them again", async () => {
  const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>();
  let has = false;
  const { serve, asked } = setUp(async ({ isWhole }) => {
    if (!isWhole) return has ? done : missing;
    await arrived;
    has = true;
    return done;
  });
  const calls = [1, 2, 3].map(() => serve({ participants: ["p1"] }));
  for (; asked.length < 4; await new Promise(setImmediate));
  arrive();
  expect(await Promise.all(calls)).toEqual(["answer", "answer", "answer"]);
  expect(asked.filter((line) => line.endsWith("whole"))).toHaveLength(1);
});

test.each([
  ["is busy", { status: 503, body: { error: "busy" } }],
  ["has no function any more", { status: 501, body: { error: "none" } }],
  ["cannot be reached", new ParticipantProblem("it cannot be reached: ECONNREFUSED", { again: true })],
])("a node that %s is followed by the next", async (_what, answer) => {
  const { serve, asked } = setUp(({ host }) => (host === "two" ? answer : done));
  expect(await serve()).toBe("answer");
  expect(asked).toEqual(["two /v1/serve hash", "one /v1/serve hash"]);
});

test.each([
  [{ status: 422, body: { error: "one number, please" } }, "VALIDATION_ERROR", "The model refused the input: one number, please"],
  [
    { status: 500, body: { error: "The function failed: KeyError." } },
    "FUNCTION_ERROR",
    "The model's function failed: The function failed: KeyError.",
  ],
  [{ status: 200, body: { output: 3 } }, "FUNCTION_ERROR", "The model's function failed"],
  [{ status: 503, body: { error: "full" } }, "BUSY", "p1: it answered 503: full"],
  [missing, "BUSY", "p1: it does not keep the parameters that it was sent"],
])("the answer %j of all nodes is %s", async (answer, kind, message) => {
  const { serve } = setUp(() => answer);
  await expect(serve()).rejects.toMatchObject({ kind, message });
});

test("parameters that the coordinator does not have are unavailable, and a participant without an address is not called", async () => {
  const { serve, asked } = setUp(() => missing);
  await expect(serve({ blob: "ab".repeat(32) })).rejects.toMatchObject({ kind: "PARAMETERS_UNAVAILABLE" });
  await expect(serve({ participants: ["p3"] })).rejects.toMatchObject({ kind: "BUSY", message: "none of its participants has an address" });
  expect(asked).toEqual(["two /v1/serve hash"]);
});

test("credentials are read again after five seconds", async () => {
  const { serve, advance, looks } = setUp(() => done);
  await Promise.all([serve(), serve()]);
  advance(4999);
  await serve();
  expect(looks()).toBe(1);
  advance(1);
  await serve();
  expect(looks()).toBe(2);
});

test("participants say whether they can serve, each with its reason if not", async () => {
  const { functions } = setUp(() => done);
  expect(await functions.servers("fed_1", undefined, signal)).toEqual({
    servers: ["p1"],
    cannot: [
      { participant: "p2", reason: "it cannot be reached: ECONNREFUSED" },
      { participant: "p3", reason: expect.stringContaining("it joined with a token") },
    ],
  });
  const { cannot } = await functions.servers("fed_1", ["p9"], signal);
  expect(cannot).toEqual([{ participant: "p9", reason: "the federation has no such participant" }]);
});
