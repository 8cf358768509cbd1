import { AppError } from "../../../common/errors.ts";
import { silentLogger } from "../../../common/logger.ts";
import { systemRandom } from "../../../common/random.ts";
import { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import { fakeClock, settleWork } from "../../access/clock-fixture.ts";
import type { Inference } from "../../calls/create.ts";
import { boundRecords } from "../records/bound-records-fixture.ts";
import { createMemoryRecords } from "../records/memory-records-fixture.ts";
import type { RecordStore } from "../records/records.ts";
import { createWorker, type Worker } from "../records/worker.ts";
import { type BatchBody, newBatchBody } from "./batch-body.ts";
import { batchHandler } from "./batch-work.ts";

const OWNER = { teamId: "team_1", organizationId: "org_1", keyId: "key_1" };
const caller = Caller.fromPartial({ ...OWNER, status: "active" });
const workers: Worker[] = [];
afterEach(async () => {
  for (const worker of workers.splice(0)) await worker.stop();
});

async function* once(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

/** A batch of `count` lines in memory, and edges that work on it; a call takes `callMs`, and the batch has `leftMs` to live. */
async function open(
  count: number,
  { callMs = 0, leftMs = 86_400_000, line = {}, failure }: { callMs?: number; leftMs?: number; line?: object; failure?: AppError } = {},
) {
  const clock = fakeClock();
  const records = createMemoryRecords({ clock, callerOf: () => caller });
  const lines = Array.from({ length: count }, (_, index) =>
    JSON.stringify({
      custom_id: `id-${index}`,
      method: "POST",
      url: "/v1/chat/completions",
      body: { model: "m", messages: [{ role: "user", content: "x" }], ...line },
    }),
  );
  await records.putContent("team_1", "file_in", once(lines.join("\n")));
  const asked = { input_file_id: "file_in", endpoint: "/v1/chat/completions", completion_window: "24h" } as const;
  const body = newBatchBody(asked, {
    id: "batch_1",
    nowMs: clock.now() + leftMs - 86_400_000,
    outputFileId: "file_out",
    errorFileId: "file_err",
  });
  await records.commit(OWNER, [{ type: "create", kind: "batch", id: "batch_1", body, createdAtMs: 0, dueAtMs: clock.now() }]);
  const overload = { mustWait: false };
  const made: string[] = [];
  const requests: unknown[] = [];
  const run: Inference["run"] = async (call) => {
    made.push(call.onceFor ?? "");
    requests.push(call.job.traits?.().request);
    await clock.sleep(callMs, call.signal);
    if (failure) throw failure;
    const bill = { usage: { input: 1, cachedInput: 0, cacheWrite: 0, output: 1, reasoning: 0, audioInput: 0, audioOutput: 0 }, cost: 1n };
    const answer = { choices: [{ index: 0, message: { role: "assistant", content: "said" }, finishReason: "stop" }] };
    return { type: "answer", head: { model: "m" }, answer, bill } as unknown as Awaited<ReturnType<Inference["run"]>> as never;
  };
  const start = (store: RecordStore = records) => {
    const deps = { clock, random: systemRandom, logger: silentLogger, records: store };
    const batch = batchHandler({ ...deps, inference: { run }, concurrency: 4, lineBytesMax: 10_000, mustWait: () => overload.mustWait });
    const worker = createWorker({ ...deps, handlers: { batch } });
    workers.push(worker);
    return worker;
  };
  const batch = async () => (await records.get<BatchBody>("team_1", "batch", "batch_1"))?.body.batch;
  const output = (id: string) =>
    (records.contents.get(`team_1/${id}`)?.toString() ?? "")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as { custom_id: string; error: { code: string } | null });
  return { clock, records, start, batch, output, made, requests, overload };
}

test("a line with a prompt gets the template's messages; a line whose prompt does not exist fails alone", async () => {
  const prompt = { id: "pmpt_1", variables: { word: "hello" } };
  const { clock, records, start, batch, requests } = await open(1, { line: { prompt } });
  const version = { version: "1", template: { instructions: "Say {{word}}." } };
  await records.commit(OWNER, [
    { type: "create", kind: "prompt", id: "pmpt_1", body: { version: "1" }, createdAtMs: 0 },
    { type: "create", kind: "prompt_version", id: "pmpt_1.1", parentId: "pmpt_1", body: version, createdAtMs: 0 },
  ]);
  start();
  await clock.advance(10_000);
  expect([await batch(), requests]).toMatchObject([
    { status: "completed", request_counts: { completed: 1, failed: 0 } },
    [
      {
        messages: [
          { role: "system", content: "Say hello." },
          { role: "user", content: "x" },
        ],
      },
    ],
  ]);
  const unknown = await open(1, { line: { prompt: { id: "pmpt_none" } } });
  unknown.start();
  await unknown.clock.advance(10_000);
  expect([await unknown.batch(), unknown.made]).toMatchObject([{ status: "completed", request_counts: { completed: 0, failed: 1 } }, []]);
});

test("a line whose answer cannot be held against its schema in time fails, and is not called again", async () => {
  const failure = new AppError("JSON_SCHEMA_VALIDATION", "The check takes too long.");
  const { clock, start, batch, made } = await open(1, { failure });
  start();
  await clock.advance(600_000);
  expect([await batch(), made.length]).toMatchObject([{ status: "completed", request_counts: { completed: 0, failed: 1 } }, 1]);
});

test("while the edge has more calls than it can serve, no line is started", async () => {
  const { clock, start, batch, made, overload } = await open(8, { callMs: 1000 });
  start();
  await clock.advance(500);
  expect(made).toHaveLength(4);
  overload.mustWait = true;
  await clock.advance(20_000);
  expect(made).toHaveLength(4);
  overload.mustWait = false;
  await clock.advance(5000);
  expect(await batch()).toMatchObject({ status: "completed", request_counts: { total: 8, completed: 8, failed: 0 } });
});

test("lines that are left when the window is over are named batch_expired, and are not called", async () => {
  const { clock, start, batch, output, made } = await open(40, { callMs: 5000, leftMs: 24_000 });
  start();
  await clock.advance(30_000);
  // Four at a time, five seconds each: sixteen are done, and what was under way is broken off.
  expect(await batch()).toMatchObject({ status: "expired", request_counts: { total: 40, completed: 16, failed: 24 } });
  expect(output("file_err").map(({ error }) => error?.code)).toEqual(Array.from({ length: 24 }, () => "batch_expired"));
  const ids = [...output("file_out"), ...output("file_err")].map(({ custom_id: id }) => id);
  expect(new Set(ids).size).toBe(40);
  expect(made).toHaveLength(20);
});

test("answers of the control plane that are lost on the way make no line twice and lose none", async () => {
  const { clock, records, start, batch, output, made } = await open(300);
  let commits = 0;
  const lossy = boundRecords(records, {
    commit: async (owner, writes) => {
      const answer = await records.commit(owner, writes);
      // Written, but the writer never hears of it.
      if (++commits % 2 === 0) throw new AppError("DB_TIMEOUT", "late");
      return answer;
    },
  });
  start(lossy);
  await clock.advance(60_000);
  expect(await batch()).toMatchObject({ status: "completed", request_counts: { total: 300, completed: 300, failed: 0 } });
  expect(new Set(output("file_out").map(({ custom_id: id }) => id)).size).toBe(300);
  expect([output("file_out").length, made.length, commits > 4]).toEqual([300, 300, true]);
});

test("an edge that has lost its claim writes nothing: the other's batch is whole", async () => {
  const { clock, records, start, batch, output, made } = await open(300, { callMs: 400 });
  // Its renewals hang, so that it does not know: as a process that was stopped for a while and goes on.
  const stalled = boundRecords(records, { renew: async () => clock.sleep(100_000).then(() => undefined) });
  start(stalled);
  await clock.advance(15_500);
  start();
  await clock.advance(60_000);
  expect(await batch()).toMatchObject({ status: "completed", request_counts: { total: 300, completed: 300, failed: 0 } });
  const ids = output("file_out").map(({ custom_id: id }) => id);
  expect([ids.length, new Set(ids).size]).toEqual([300, 300]);
  // Otherwise the two did not meet.
  expect(made.length).toBeGreaterThan(300);
  await clock.advance(60_000);
});

test("a control plane that is away for a while interrupts nothing for good", async () => {
  const { clock, records, start, batch, output } = await open(200, { callMs: 100 });
  let isAway = false;
  const away = async () => {
    if (isAway) throw new AppError("UNAVAILABLE", "away");
  };
  const shaky = boundRecords(records, {
    commit: async (owner, writes) => away().then(() => records.commit(owner, writes)),
    renew: async (held, leaseMs) => away().then(() => records.renew(held, leaseMs)),
    claim: async (kinds, options) => away().then(() => records.claim(kinds, options)),
  });
  start(shaky);
  await clock.advance(2500);
  isAway = true;
  await clock.advance(6000);
  isAway = false;
  await clock.advance(60_000);
  expect(await batch()).toMatchObject({ status: "completed", request_counts: { total: 200, completed: 200, failed: 0 } });
  expect(new Set(output("file_out").map(({ custom_id: id }) => id)).size).toBe(200);
});

test("an input that is deleted under way ends the batch as failed, with what was answered", async () => {
  const { clock, records, start, batch } = await open(12, { callMs: 1000 });
  const gone = boundRecords(records, { getContent: async (teamId, id, offset) => (offset ? undefined : records.getContent(teamId, id)) });
  const worker = start(gone);
  await clock.advance(2500);
  await worker.stop();
  await settleWork();
  start(gone);
  await clock.advance(30_000);
  expect(await batch()).toMatchObject({ status: "failed", errors: { data: [{ code: "invalid_file", param: "input_file_id" }] } });
});

describe("results that do not fit into the organization's files", () => {
  /** Refuses result files until there is room. */
  const crowded = (records: RecordStore, room: { isThere: boolean }) =>
    boundRecords(records, {
      putContent: async (teamId, id, content, options) => {
        if (room.isThere || id !== "file_out") return records.putContent(teamId, id, content, options);
        throw new AppError("PAYLOAD_TOO_LARGE", "Your organization has 10 bytes of files");
      },
    });

  test("are kept until there is room, and no line is called again", async () => {
    const { clock, records, start, batch, output, made } = await open(12);
    const room = { isThere: false };
    start(crowded(records, room));
    await clock.advance(60_000);
    const errors = { data: [{ code: "storage_limit_exceeded", message: "Your organization has 10 bytes of files" }] };
    expect(await batch()).toMatchObject({ status: "finalizing", errors, output_file_id: null });
    room.isThere = true;
    await clock.advance(60_000);
    expect(await batch()).toMatchObject({ status: "completed", errors: null, output_file_id: "file_out" });
    expect([output("file_out").length, made.length]).toEqual([12, 12]);
  });

  test("are given up when the batch expires, with the reason", async () => {
    const { clock, records, start, batch } = await open(2, { leftMs: 90_000 });
    start(crowded(records, { isThere: false }));
    await clock.advance(60_000);
    expect((await batch())?.status).toBe("finalizing");
    await clock.advance(90_000);
    expect(await batch()).toMatchObject({ status: "failed", errors: { data: [{ code: "storage_limit_exceeded" }] }, output_file_id: null });
  });
});
