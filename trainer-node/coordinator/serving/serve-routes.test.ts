import express from "express";
import { silentLogger } from "../../../common/logger.ts";
import { FUNCTION_CALL_BYTES_MAX } from "../../../common/training/trained-manifest.ts";
import { errorResponse } from "../../http/error-response.ts";
import { type RunningServer, startServer } from "../../server.ts";
import { createFunctionSource } from "../../serving/function-source.ts";
import { createCallLimits } from "./call-limits.ts";
import { serveRoutes } from "./serve-routes.ts";

let server: RunningServer;
let waiting: (() => void)[];
const call = { participants: ["p1"], blob: "ab".repeat(32), input: "x", config: {} };
const BYTES = JSON.stringify(call).length;

beforeEach(async () => {
  waiting = [];
  const serve = () => new Promise<string>((resolve) => waiting.push(() => resolve("answer")));
  const limits = createCallLimits({ ofFederation: { calls: 2, bytes: 10_000 }, ofAll: { calls: 3, bytes: 15_000 } });
  const app = express();
  app.use(serveRoutes({ serve, servers: () => Promise.reject(new Error("not in this test")) }, limits));
  app.use(errorResponse(silentLogger));
  server = await startServer(app, { host: "127.0.0.1", port: 0 });
});
afterEach(async () => {
  for (const answer of waiting) answer();
  await server.stop();
});

async function ask(federation: string, { bytes = BYTES, signal }: { bytes?: number; signal?: AbortSignal } = {}) {
  const body = JSON.stringify({ ...call, input: "x".repeat(1 + bytes - BYTES) });
  const headers = { "content-type": "application/json" };
  const url = `http://127.0.0.1:${server.port}/v1/federations/${federation}/serve`;
  const answer = await fetch(url, { method: "POST", headers, body, ...(signal ? { signal } : {}) });
  return {
    status: answer.status,
    retry: answer.headers.get("retry-after"),
    ...((await answer.json()) as { output?: string; code?: string }),
  };
}
const running = async (count: number): Promise<void> => {
  for (; waiting.length < count; ) await new Promise(setImmediate);
};
const busy = { status: 503, code: "BUSY", retry: "5" };

test("a federation and all together have a number of calls, and a call that ended makes room", async () => {
  const first = [ask("fed_1"), ask("fed_1")];
  await running(2);
  expect(await ask("fed_1")).toMatchObject(busy);
  const third = ask("fed_2");
  await running(3);
  expect(await ask("fed_3")).toMatchObject(busy);
  for (const answer of waiting) answer();
  for (const answered of [...first, third]) expect(await answered).toMatchObject({ status: 200, output: "answer" });
  const again = ask("fed_1");
  await running(4);
  waiting[3]?.();
  expect(await again).toMatchObject({ status: 200 });
});

test("the bytes of calls count for their federation and for all", async () => {
  const calls = [ask("fed_1", { bytes: 6000 })];
  await running(1);
  expect(await ask("fed_1", { bytes: 6000 })).toMatchObject(busy);
  calls.push(ask("fed_2", { bytes: 6000 }));
  await running(2);
  expect(await ask("fed_3", { bytes: 6000 })).toMatchObject(busy);
  for (const answer of waiting) answer();
  for (const answered of calls) expect(await answered).toMatchObject({ status: 200 });
});

test("a caller that leaves makes room", async () => {
  const left = new AbortController();
  const calls = [ask("fed_1", { signal: left.signal }), ask("fed_1", { signal: left.signal })];
  await running(2);
  left.abort();
  for (const call of calls) await expect(call).rejects.toThrow("aborted");
  // The coordinator notices it a little later than the caller.
  const next = (async () => {
    for (;;) {
      const answer = await ask("fed_1");
      if (answer.status !== 503) return answer;
    }
  })();
  await running(3);
  waiting[2]?.();
  expect(await next).toMatchObject({ status: 200 });
});

test("a call that is too large is refused before its body is read, and the trainer node does not send it", async () => {
  expect(await ask("fed_1", { bytes: FUNCTION_CALL_BYTES_MAX + 1 })).toMatchObject({ status: 413, code: "PAYLOAD_TOO_LARGE" });
  const send = createFunctionSource({ urls: ["http://127.0.0.1:1"], timeoutMs: 1000, logger: silentLogger });
  const manifest = { task: "function" as const, blob: call.blob, federation: { id: "fed_1", participants: ["p1"] } };
  const input = { input: "x".repeat(FUNCTION_CALL_BYTES_MAX), config: {} };
  await expect(send(manifest, input, new AbortController().signal)).rejects.toMatchObject({ kind: "PAYLOAD_TOO_LARGE" });
});
