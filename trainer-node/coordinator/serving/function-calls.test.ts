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
type Answers = (request: { host: string; isWhole: boolean; signal: AbortSignal }) => Answer | Promise<Answer>;

const participant = (id: string, url: string): Participant => ({
  ...{ id, url, nodeId: "", organizationId: "org_a", dataset: "", joined: true, maxSamples: undefined },
  ...{ secret: "s", token: "", tenantId: "org_a" },
});

/** Two participants with addresses and one without; calls are answered by `answers`. */
function setUp(answers: Answers) {
  const asked: string[] = [];
  let nowMs = 0;
  const timers = new Set<{ atMs: number; wake: () => void }>();
  const after = (milliseconds: number, wake: () => void) => {
    const timer = { atMs: nowMs + milliseconds, wake };
    timers.add(timer);
    return () => void timers.delete(timer);
  };
  const clock = { ...systemClock, monotonicMs: () => nowMs, after };
  let looks = 0;
  const call: CallNode = async ({ url }, { body, path }, given) => {
    const host = new URL(url).hostname;
    const isWhole = body?.type === "application/octet-stream" || body?.bytes === undefined || body.bytes > 9000;
    asked.push(`${host} ${path} ${isWhole ? "whole" : "hash"}`);
    const answer = await answers({ host, isWhole, signal: given });
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
    for (const timer of timers) if (timer.atMs <= nowMs && timers.delete(timer)) timer.wake();
  };
  return { functions, serve, asked, advance, timers, looks: () => looks };
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

/** Never answers; the call ends with its signal. */
const hangs = ({ signal }: { signal: AbortSignal }) =>
  new Promise<Answer>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));

test("a node that hangs is followed by the next, and gets no calls for a while", async () => {
  let isHanging = true;
  const { serve, asked, advance, timers } = setUp((request) => (request.host === "two" && isHanging ? hangs(request) : done));
  const first = serve();
  for (; asked.length < 1; await new Promise(setImmediate));
  advance(29_999);
  await new Promise(setImmediate);
  expect(asked).toEqual(["two /v1/serve hash"]);
  advance(1);
  expect(await first).toBe("answer");
  for (let count = 0; count < 3; count++) await serve();
  expect(asked.filter((line) => line.startsWith("two"))).toHaveLength(1);
  isHanging = false;
  advance(30_000);
  for (let count = 0; count < 2; count++) await serve();
  expect(asked.filter((line) => line.startsWith("two"))).toHaveLength(2);
  expect(timers.size).toBe(0);
});

test("a node that gets the parameters has all the time of the call", async () => {
  const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>();
  const { serve, asked, advance } = setUp(async ({ isWhole, signal: given }) => {
    if (!isWhole) return missing;
    await arrived;
    given.throwIfAborted();
    return done;
  });
  const call = serve();
  for (; asked.length < 2; await new Promise(setImmediate));
  advance(59_999);
  arrive();
  expect(await call).toBe("answer");
  expect(asked).toEqual(["two /v1/serve hash", "two /v1/serve whole"]);
});

test("a call ends after 60 seconds, which the only node has for itself, also when it hung before", async () => {
  const { serve, asked, advance } = setUp(hangs);
  for (const count of [1, 2]) {
    const call = serve({ participants: ["p1"] });
    for (; asked.length < count; await new Promise(setImmediate));
    advance(60_000);
    await expect(call).rejects.toMatchObject({ kind: "TIMEOUT", message: "p1 did not answer within 60000 ms." });
  }
  advance(30_000);
  const both = serve();
  for (; asked.length < 3; await new Promise(setImmediate));
  advance(30_000);
  for (; asked.length < 4; await new Promise(setImmediate));
  advance(30_000);
  await expect(both).rejects.toMatchObject({ kind: "TIMEOUT", message: expect.stringContaining("did not answer within 30000 ms.") });
});

test("a node that does not keep the parameters gets them three times a minute", async () => {
  const { serve, asked, advance } = setUp(({ isWhole }) => (isWhole ? done : missing));
  const only = { participants: ["p1"] };
  const uploads = () => asked.filter((line) => line.endsWith("whole")).length;
  for (let count = 0; count < 3; count++) expect(await serve(only)).toBe("answer");
  const message = "p1: it was sent the parameters 3 times within a minute and does not keep them";
  await expect(serve(only)).rejects.toMatchObject({ kind: "BUSY", message });
  expect(await serve()).toBe("answer");
  expect([uploads(), asked.at(-1)]).toEqual([4, "two /v1/serve whole"]);
  advance(60_000);
  expect(await serve(only)).toBe("answer");
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
