import type { CancelSignal } from "../../../common/cancel.ts";
import { AppError } from "../../../common/errors.ts";
import { silentLogger } from "../../../common/logger.ts";
import { nanoUsd } from "../../../common/money.ts";
import { systemRandom } from "../../../common/random.ts";
import { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import { type FakeClock, fakeClock, settleWork } from "../../access/clock-fixture.ts";
import type { Inference } from "../../calls/create.ts";
import type { DeliveredPart } from "../../calls/inference/delivery.ts";
import type { InferenceCall } from "../../calls/inference/inference-call.ts";
import type { MessageObject, StepObject } from "../../schemas/stored/assistant-answers.ts";
import { createMemoryRecords } from "../records/memory-records-fixture.ts";
import type { RecordOf, RecordStore } from "../records/records.ts";
import { createWorker, type Worker } from "../records/worker.ts";
import type { RunBody, ThreadBody } from "./bodies.ts";
import { assistantOf, newRunBody, RUN_LIFE_MS, runOf, threadOf } from "./objects.ts";
import { cancelRun } from "./run-actions.ts";
import { createRunEngine, type RunEngine } from "./run-engine.ts";
import { createRunFeed } from "./run-feed.ts";

const caller = Caller.fromPartial({ keyId: "key_1", teamId: "team_1", organizationId: "org_1", status: "active" });
const owner = { teamId: "team_1", organizationId: "org_1", keyId: "key_1" };
const RUN = "run_00000000000000000000000000000001";
const WEATHER = { type: "function" as const, function: { name: "get_weather" } };

interface Gate {
  readonly promise: Promise<readonly DeliveredPart[]>;
  readonly say: (parts: readonly DeliveredPart[]) => void;
}

/** A model whose parts a test hands out one by one. */
class Model {
  readonly calls: InferenceCall<unknown>[] = [];
  readonly #gates: Gate[] = [];

  gate(number: number): Gate {
    while (this.#gates.length <= number) {
      const { promise, resolve } = Promise.withResolvers<readonly DeliveredPart[]>();
      this.#gates.push({ promise, say: resolve });
    }
    return this.#gates[number] as Gate;
  }

  readonly run = (async (call: InferenceCall<unknown>) => {
    const { promise } = this.gate(this.calls.push(call) - 1);
    const head = { model: "m", deploymentId: "d", rate: undefined, retries: 0, fallbacks: 0, overheadMs: () => 0 };
    return { type: "stream", head, parts: spoken(promise, call.signal) };
  }) as unknown as Inference["run"];
}

async function* spoken(later: Promise<readonly DeliveredPart[]>, signal: CancelSignal): AsyncGenerator<DeliveredPart> {
  yield { type: "text-delta", choice: 0, text: "So " };
  const aborted = new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  aborted.catch(() => {});
  yield* await Promise.race([later, aborted]);
}

const usage = { input: 4, cachedInput: 0, cacheWrite: 0, output: 2, reasoning: 0, source: "provider" as const };
const END: DeliveredPart = { type: "settled", bill: { usage, cost: nanoUsd(1n) } as never };
const SAYS = (text: string): DeliveredPart[] => [
  { type: "text-delta", choice: 0, text },
  { type: "finish", choice: 0, reason: "stop" },
  END,
];
const CALLS: DeliveredPart[] = [
  {
    type: "other-delta",
    choice: 0,
    text: "",
    fields: { tool_calls: [{ index: 0, id: "call_1", function: { name: "get_weather", arguments: "{}" } }] },
  },
  { type: "finish", choice: 0, reason: "tool_calls" },
  END,
];

let clock: FakeClock;
let memory: RecordStore;
let model: Model;
let workers: Worker[];
beforeEach(async () => {
  clock = fakeClock();
  memory = createMemoryRecords({ clock, callerOf: (keyId) => (keyId === caller.keyId ? caller : undefined) });
  model = new Model();
  workers = [];
});
afterEach(async () => {
  for (const worker of workers) {
    const stopping = worker.stop();
    await clock.advance(10_000);
    await stopping;
  }
});

function engineOf(records: RecordStore = memory): RunEngine {
  const parts = { inference: { run: model.run }, records, feed: createRunFeed(), clock, random: systemRandom, logger: silentLogger };
  return createRunEngine({ ...parts, countTokens: async () => 1, contextWindow: () => undefined });
}

/** An edge: an engine behind a worker. */
function edgeOf(records: RecordStore = memory): { engine: RunEngine; worker: Worker } {
  const engine = engineOf(records);
  const handlers: Parameters<typeof createWorker>[0]["handlers"] = {
    run: async ({ record, caller: payer }, work) => {
      work.onChange((changed) => {
        if ((changed as RecordOf<RunBody>).body.run.status === "cancelling") engine.breakOff(changed.id);
      });
      await engine.work({ record: record as RecordOf<RunBody>, caller: payer, claim: work.claim, signal: work.signal });
    },
  };
  const worker = createWorker({ records, clock, random: systemRandom, logger: silentLogger, handlers });
  workers.push(worker);
  return { engine, worker };
}

/** A thread with a run that is due; held by `claim` where one is given. */
async function newRun(held?: { claim: string; dueAtMs: number }, keyId = owner.keyId): Promise<RecordOf<RunBody>> {
  const nowMs = clock.now();
  const thread = threadOf({ id: "thread_1", nowMs }, {});
  const assistant = assistantOf({ id: "asst_1", nowMs }, { model: "m", instructions: "Be kind.", tools: [WEATHER] });
  const run = runOf({ id: RUN, nowMs }, { assistant_id: "asst_1" }, assistant, thread.id);
  const body: ThreadBody = { thread, activeRunId: run.id };
  const [record] = await memory.commit({ ...owner, keyId }, [
    {
      type: "create",
      kind: "run",
      id: run.id,
      parentId: thread.id,
      body: newRunBody(run),
      createdAtMs: nowMs,
      ...(held ?? { dueAtMs: nowMs }),
    },
    { type: "create", kind: "thread", id: thread.id, body, createdAtMs: nowMs },
  ]);
  return record as RecordOf<RunBody>;
}

const runNow = async () => (await memory.get<RunBody>("team_1", "run", RUN))?.body.run;
const messages = async () =>
  (await memory.list<MessageObject>("team_1", "message", { parentId: "thread_1", order: "asc", limit: 100 })).records.map(
    ({ body }) => body,
  );
const steps = async () =>
  (await memory.list<StepObject>("team_1", "run_step", { parentId: RUN, order: "asc", limit: 100 })).records.map(({ body }) => body);
const isFree = async () => (await memory.get<ThreadBody>("team_1", "thread", "thread_1"))?.body.activeRunId === null;

test("a run whose edge is gone is taken over after its lease, as the same paid work; what the old edge says then is not written", async () => {
  const dead = engineOf();
  const record = await newRun({ claim: "claim_dead", dueAtMs: clock.now() + 15_000 });
  // The old edge does not know that it lost its claim: nothing aborts it.
  const old = dead.work({ record, caller, claim: "claim_dead", signal: new AbortController().signal });
  await settleWork();
  expect(model.calls).toHaveLength(1);
  edgeOf();
  await clock.advance(20_000);
  expect(model.calls.map(({ onceFor }) => onceFor)).toEqual([`${RUN}/0`, `${RUN}/0`]);
  expect(new Set(model.calls.map(({ callId }) => callId)).size).toBe(2);
  model.gate(1).say(SAYS("here."));
  await clock.advance(0);
  model.gate(0).say(SAYS("there."));
  await old;
  expect((await runNow())?.status).toBe("completed");
  expect((await messages()).map(({ content }) => content)).toEqual([[{ type: "text", text: { value: "So here.", annotations: [] } }]]);
  expect([(await steps()).length, await isFree()]).toEqual([1, true]);
});

test("a run that takes too long expires, with what was said so far", async () => {
  edgeOf();
  await newRun();
  await clock.advance(RUN_LIFE_MS + 5_000);
  expect(await runNow()).toMatchObject({ status: "expired", expires_at: null });
  expect(await messages()).toMatchObject([{ status: "incomplete", incomplete_details: { reason: "run_expired" } }]);
  expect(await steps()).toMatchObject([{ status: "expired", expired_at: expect.any(Number) }]);
  expect(await isFree()).toBe(true);
});

test("a run that waits for its caller is unclaimed, and still expires", async () => {
  edgeOf();
  await newRun();
  model.gate(0).say(CALLS);
  await clock.advance(3_000);
  const waiting = await memory.get<RunBody>("team_1", "run", RUN);
  expect([waiting?.body.run.status, waiting?.claim]).toEqual(["requires_action", undefined]);
  expect(await isFree()).toBe(false);
  await clock.advance(RUN_LIFE_MS);
  expect(await runNow()).toMatchObject({ status: "expired", required_action: null });
  expect((await steps()).map(({ type, status }) => [type, status])).toEqual([
    ["message_creation", "completed"],
    ["tool_calls", "expired"],
  ]);
  expect([model.calls.length, await isFree()]).toEqual([1, true]);
});

test("a cancellation at another edge is seen with the next renewal", async () => {
  edgeOf();
  await newRun();
  await clock.advance(3_000);
  await cancelRun({ records: memory, clock }, caller, { threadId: "thread_1", runId: RUN });
  expect((await runNow())?.status).toBe("cancelling");
  await clock.advance(2_500);
  expect((await runNow())?.status).toBe("cancelled");
  expect(model.calls[0]?.signal.aborted).toBe(true);
  expect([(await messages()).map(({ incomplete_details: details }) => details?.reason), await isFree()]).toEqual([["run_cancelled"], true]);
});

test("a canceled run whose edge is gone is ended by the next one, without another model call", async () => {
  await newRun({ claim: "claim_dead", dueAtMs: clock.now() + 15_000 });
  await cancelRun({ records: memory, clock }, caller, { threadId: "thread_1", runId: RUN });
  edgeOf();
  await clock.advance(20_000);
  expect([(await runNow())?.status, model.calls.length, await isFree()]).toEqual(["cancelled", 0, true]);
});

test("a cancellation that comes while the answer is written wins, and the answer is stored as incomplete", async () => {
  let isFirst = true;
  const racing: RecordStore = {
    ...bound(memory),
    commit: async (by, writes) => {
      if (isFirst && writes.some((write) => write.type === "create" && write.kind === "message")) {
        isFirst = false;
        await cancelRun({ records: memory, clock }, caller, { threadId: "thread_1", runId: RUN });
      }
      return memory.commit(by, writes);
    },
  };
  edgeOf(racing);
  await newRun();
  model.gate(0).say(SAYS("done."));
  await clock.advance(3_000);
  expect((await runNow())?.status).toBe("cancelled");
  expect(await messages()).toMatchObject([{ status: "incomplete", content: [{ text: { value: "So done." } }] }]);
});

test("a commit whose answer is lost is not made twice; a control plane that is away is waited for", async () => {
  const failures = ["lost", "away", "away"];
  const shaky: RecordStore = {
    ...bound(memory),
    commit: async (by, writes) => {
      const isEnd = writes.some((write) => write.type === "create" && write.kind === "message");
      const failure = isEnd ? failures.pop() : undefined;
      if (failure !== "away") {
        const written = await memory.commit(by, writes);
        if (failure === undefined) return written;
      }
      throw new AppError("UNAVAILABLE", "The control plane is away.");
    },
  };
  edgeOf(shaky);
  await newRun();
  model.gate(0).say(SAYS("done."));
  await clock.advance(10_000);
  expect(failures).toEqual([]);
  expect([(await runNow())?.status, (await messages()).length, (await steps()).length, await isFree()]).toEqual(["completed", 1, 1, true]);
});

test("an answer that cannot be stored ends the run, and its model is not called again", async () => {
  const full: RecordStore = {
    ...bound(memory),
    commit: async (by, writes) => {
      const isAnswer = writes.some((write) => write.type === "create" && write.kind === "message");
      if (isAnswer) throw new AppError("PAYLOAD_TOO_LARGE", "The record is too large.");
      return memory.commit(by, writes);
    },
  };
  edgeOf(full);
  await newRun();
  model.gate(0).say(SAYS("too much."));
  await clock.advance(60_000);
  expect(await runNow()).toMatchObject({ status: "failed", last_error: { code: "server_error", message: "The record is too large." } });
  expect([model.calls.length, await isFree()]).toEqual([1, true]);
});

test("a run whose key is gone fails and says so", async () => {
  edgeOf();
  await newRun(undefined, "key_gone");
  await clock.advance(3_000);
  expect(await runNow()).toMatchObject({ status: "failed", last_error: { code: "server_error" } });
  expect([model.calls.length, await isFree()]).toEqual([0, true]);
});

test("an edge that stops gives its run back, and another goes on at once", async () => {
  const first = edgeOf();
  await newRun();
  await clock.advance(3_000);
  expect(model.calls).toHaveLength(1);
  const stopping = first.worker.stop();
  await clock.advance(200);
  await stopping;
  expect(await messages()).toEqual([]);
  edgeOf();
  await clock.advance(2_500);
  expect(model.calls).toHaveLength(2);
  model.gate(1).say(SAYS("again."));
  await clock.advance(100);
  expect([(await runNow())?.status, (await messages()).length]).toEqual(["completed", 1]);
});

/** Methods of an instance, to be spread into another. */
function bound(records: RecordStore): RecordStore {
  return {
    get: (...input) => records.get(...input),
    list: (...input) => records.list(...input),
    commit: (...input) => records.commit(...input),
    claim: (...input) => records.claim(...input),
    renew: (...input) => records.renew(...input),
    putContent: (...input) => records.putContent(...input),
    getContent: (...input) => records.getContent(...input),
  };
}
