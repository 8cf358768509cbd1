import { AppError } from "../../../common/errors.ts";
import { silentLogger } from "../../../common/logger.ts";
import { systemRandom } from "../../../common/random.ts";
import { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import { fakeClock } from "../../access/clock-fixture.ts";
import type { ResponsesRequest } from "../../schemas/calls/responses.ts";
import type { Fields } from "../../upstream/providers/provider.ts";
import { boundRecords } from "../records/bound-records-fixture.ts";
import { createMemoryRecords } from "../records/memory-records-fixture.ts";
import type { RecordStore } from "../records/records.ts";
import { createWorker, type Worker } from "../records/worker.ts";
import { type BackgroundDeps, backgroundHandler } from "./background.ts";
import { ResponseFeed } from "./response-feed.ts";
import type { StoredResponse } from "./stored-responses.ts";

const OWNER = { teamId: "team_1", organizationId: "org_1", keyId: "key_1" };
const CALLER = Caller.fromPartial({ ...OWNER, status: "active" });
const USAGE = { input: 1, cachedInput: 0, cacheWrite: 0, output: 1, reasoning: 0, audioInput: 0, audioOutput: 0 };
const workers: Worker[] = [];
afterEach(async () => {
  for (const worker of workers.splice(0)) await worker.stop();
});

type Run = BackgroundDeps["inference"]["run"];
type Call = Parameters<Run>[0];

const answer = (message: Fields = { content: "said" }, finishReason = "stop") => ({
  ...{ type: "answer", head: { model: "m" }, bill: { usage: USAGE, cost: 1n } },
  answer: { choices: [{ index: 0, message: { role: "assistant", ...message }, finishReason }] },
});

/** A queued response, and edges that make its calls with `run`. */
async function open(run: (call: Call) => Promise<unknown> | unknown, asked: Partial<ResponsesRequest> = {}, work: object = {}) {
  const clock = fakeClock();
  const callers = new Map([["key_1", CALLER]]);
  const records = createMemoryRecords({ clock, callerOf: (keyId) => callers.get(keyId) });
  const response = { id: "resp_1", created_at: 1, status: "queued" };
  const input = [{ type: "message", role: "user", content: "x" }];
  const body = { response, input, work: { asked: { model: "m", background: true, ...asked }, messages: [], ...work } };
  const times = { createdAtMs: clock.now(), dueAtMs: clock.now() };
  await records.commit(OWNER, [{ type: "create", kind: "response", id: "resp_1", body, ...times }]);
  const made: string[] = [];
  const inference = {
    run: async (call: Call) => {
      made.push(call.onceFor ?? "");
      return await run(call);
    },
    routing: { candidates: () => [{ provider: "other" }], groupOf: () => ({}) },
    providers: new Map(),
    mcp: { handle: async () => ({ jsonrpc: "2.0", id: 1, result: { tools: [{ name: "s__shout" }], content: [] } }) },
  } as unknown as BackgroundDeps["inference"];
  const start = (store: RecordStore = records) => {
    const deps = { clock, random: systemRandom, logger: silentLogger, records: store, feed: new ResponseFeed() };
    const worker = createWorker({ ...deps, handlers: { response: backgroundHandler({ ...deps, inference, bodyBytesMax: 10_000 }) } });
    workers.push(worker);
    return worker;
  };
  const stored = async () => (await records.get<StoredResponse>("team_1", "response", "resp_1"))?.body;
  return { clock, records, callers, start, stored, made };
}

const never = ({ signal }: Call) =>
  new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));

test("a response whose edges all end is begun three times, and then fails", async () => {
  const { clock, start, stored, made } = await open(never);
  for (let edge = 0; edge < 3; edge++) {
    const worker = start();
    await clock.advance(3000);
    expect((await stored())?.response["status"]).toBe("in_progress");
    await worker.stop();
    await clock.advance(1000);
  }
  start();
  await clock.advance(3000);
  const ended = await stored();
  expect([ended?.work, ended?.response]).toMatchObject([
    undefined,
    { status: "failed", error: { code: "server_error", message: expect.stringContaining("begun 3 times") } },
  ]);
  expect(made).toHaveLength(3);
});

test("a response that could not be begun for an hour fails", async () => {
  const { clock, start, stored, made } = await open(() => answer());
  await clock.advance(3_600_000);
  start();
  await clock.advance(3000);
  expect((await stored())?.response).toMatchObject({ status: "failed", error: { message: expect.stringContaining("within an hour") } });
  expect(made).toEqual([]);
});

test("a failed response whose error cannot be stored ends with a short one", async () => {
  const { clock, records, start, stored } = await open(() => Promise.reject(new AppError("INVALID_REQUEST", "x".repeat(1000))));
  const commit: RecordStore["commit"] = async (owner, writes) => {
    if (JSON.stringify(writes, (_, value) => (typeof value === "bigint" ? String(value) : value)).length > 1200) {
      throw new AppError("PAYLOAD_TOO_LARGE", "The record is too large.");
    }
    return await records.commit(owner, writes);
  };
  start(boundRecords(records, { commit }));
  await clock.advance(3000);
  expect((await stored())?.response).toMatchObject({ status: "failed", error: { message: "The response could not be stored." } });
});

test("an answer that does not match its schema, or whose check does not end, fails the response, and is not made again", async () => {
  const unchecked = () => Promise.reject(new AppError("JSON_SCHEMA_VALIDATION", "The check takes too long."));
  const { clock, start, stored, made } = await open(unchecked);
  start();
  await clock.advance(600_000);
  const ended = await stored();
  expect([ended?.work, ended?.response, made.length]).toMatchObject([
    undefined,
    { status: "failed", error: { message: "The check takes too long." } },
    1,
  ]);
});

test("a passing error is retried ever more slowly and with the key as it is then, and for an hour at most", async () => {
  const away = () => Promise.reject(new AppError("UNAVAILABLE", "The control plane is away."));
  const { clock, start, stored, made } = await open(away);
  start();
  await clock.advance(3_300_000);
  const count = made.length;
  expect((await stored())?.response["status"]).toBe("in_progress");
  await clock.advance(400_000);
  expect((await stored())?.response).toMatchObject({ status: "failed", error: { message: "The control plane is away." } });
  expect([count > 10, count < 130]).toEqual([true, true]);

  const other = await open(away);
  other.start();
  await other.clock.advance(1000);
  other.callers.delete("key_1");
  await other.clock.advance(10_000);
  expect((await other.stored())?.response).toMatchObject({ error: { message: expect.stringContaining("no longer exists") } });
});

test("a response with tools of the gateway is not repeated as a whole after a passing error in a late round", async () => {
  const shout = { type: "function", id: "call_1", function: { name: "s__shout", arguments: "{}" } };
  const tools = [{ type: "mcp", server_label: "s", require_approval: "never" }] as unknown as NonNullable<ResponsesRequest["tools"]>;
  const run = ({ onceFor }: Call) => {
    if (onceFor?.endsWith("/0.0")) return answer({ content: null, tool_calls: [shout] }, "tool_calls");
    throw new AppError("UNAVAILABLE", "The control plane is away.");
  };
  const { clock, start, stored, made } = await open(run, { tools });
  start();
  await clock.advance(600_000);
  expect((await stored())?.response).toMatchObject({ status: "failed", error: { message: "The control plane is away." } });
  expect(made.filter((onceFor) => onceFor === "resp_1/0.0")).toHaveLength(1);
  expect(made).toContain("resp_1/0.1");
});

test.each([
  [9, "completed", null],
  [10, "failed", { code: "server_error", message: "The response could not be stored." }],
] as const)("after %d errors of the store, an answer that is paid for is %s", async (count, status, error) => {
  const { clock, records, start, stored, made } = await open(() => answer());
  let left: number = count;
  const commit: RecordStore["commit"] = async (owner, writes) => {
    if (made.length > 0 && left-- > 0) throw new AppError("SERVER_ERROR", "Something went wrong on our side.");
    return await records.commit(owner, writes);
  };
  start(boundRecords(records, { commit }));
  await clock.advance(10_000);
  expect((await stored())?.response).toMatchObject({ status, error });
  expect(made).toHaveLength(1);
});
