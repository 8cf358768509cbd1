import { AppError } from "../../../common/errors.ts";
import { silentLogger } from "../../../common/logger.ts";
import { systemRandom } from "../../../common/random.ts";
import { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import { fakeClock, settleWork } from "../../access/clock-fixture.ts";
import { boundRecords } from "./bound-records-fixture.ts";
import { createMemoryRecords } from "./memory-records-fixture.ts";
import type { RecordStore } from "./records.ts";
import type { WorkHandler, WorkLease } from "./work.ts";
import { createWorker, type Worker, type WorkerDeps } from "./worker.ts";

const OWNER = { teamId: "team_1", organizationId: "org_1", keyId: "key_1" };

const workers: Worker[] = [];
afterEach(async () => {
  for (const worker of workers.splice(0)) await worker.stop();
});

function open() {
  const clock = fakeClock();
  const caller = Caller.fromPartial({ ...OWNER, status: "active" });
  const records = createMemoryRecords({ clock, callerOf: (keyId) => (keyId === "key_1" ? caller : undefined) });
  const start = (run: WorkHandler, more: Partial<WorkerDeps> = {}) => {
    const worker = createWorker({ records, clock, random: systemRandom, logger: silentLogger, handlers: { run }, ...more });
    workers.push(worker);
    return worker;
  };
  const add = (id: string, work: { dueAtMs?: number; claim?: string } = { dueAtMs: clock.now() }) =>
    records.commit(OWNER, [{ type: "create", kind: "run", id, body: { step: 0 }, createdAtMs: 0, ...work }]);
  return { clock, records, start, add };
}

/** Ends the work as a handler does. */
const finish = (records: RecordStore, id: string, claim: string) =>
  records.commit(OWNER, [{ type: "put", kind: "run", id, body: "done", claim }]);

/** A handler that waits until its work is taken from it, and remembers what it was given. */
function waiting(seen: { id: string; work: WorkLease }[]): WorkHandler {
  return ({ record }, work) =>
    new Promise((_resolve, reject) => {
      seen.push({ id: record.id, work });
      work.signal.addEventListener("abort", () => reject(work.signal.reason));
    });
}

test("due work is found within a poll, done once, with whose key it is", async () => {
  const { clock, records, start, add } = open();
  const done: unknown[] = [];
  start(async ({ record, caller }, { claim }) => {
    done.push([record.id, caller?.keyId]);
    await finish(records, record.id, claim);
  });
  await add("run_1");
  await clock.advance(2000);
  await add("run_2", {});
  await clock.advance(60_000);
  expect(done).toEqual([["run_1", "key_1"]]);
});

test("work is held for as long as its handler runs, and no other edge gets it", async () => {
  const { clock, start, add } = open();
  const [here, there]: { id: string; work: WorkLease }[][] = [[], []];
  start(waiting(here ?? []));
  await add("run_1");
  await clock.advance(2000);
  start(waiting(there ?? []));
  await clock.advance(120_000);
  expect([here?.length, there?.length, here?.[0]?.work.signal.aborted]).toEqual([1, 0, false]);
});

test("work of an edge that died is taken over when its lease has run out", async () => {
  const { clock, records, start, add } = open();
  await add("run_1");
  await records.claim(["run"], { claim: "of the dead", leaseMs: 15_000, limit: 1 });
  const seen: { id: string; work: WorkLease }[] = [];
  start(waiting(seen));
  await clock.advance(14_000);
  expect(seen).toEqual([]);
  await clock.advance(3000);
  expect(seen.map(({ id }) => id)).toEqual(["run_1"]);
});

test("a handler whose claim was taken is interrupted with the next renewal", async () => {
  const { clock, records, start, add } = open();
  const seen: { id: string; work: WorkLease }[] = [];
  start(waiting(seen));
  await add("run_1");
  await clock.advance(2000);
  await records.commit(OWNER, [{ type: "remove", kind: "run", id: "run_1" }]);
  await clock.advance(2000);
  expect(seen[0]?.work.signal.reason).toMatchObject({ code: "RECORD_CHANGED" });
});

test("a handler is interrupted once its claim could not be renewed for a lease's length, and not before", async () => {
  const { clock, records, start, add } = open();
  const seen: { id: string; work: WorkLease }[] = [];
  const unreachable = { ...boundRecords(records), renew: async () => Promise.reject(new AppError("UNAVAILABLE", "away")) };
  start(waiting(seen), { records: unreachable });
  await add("run_1");
  await clock.advance(2000);
  await clock.advance(13_000);
  expect(seen[0]?.work.signal.aborted).toBe(false);
  await clock.advance(3000);
  expect(seen[0]?.work.signal.reason).toMatchObject({ code: "UNAVAILABLE" });
});

test("what others write is seen with the next renewal, at once when asked for", async () => {
  const { clock, records, start, add } = open();
  const seen: { id: string; work: WorkLease }[] = [];
  const worker = start(waiting(seen));
  await add("run_1");
  await clock.advance(2000);
  const received: unknown[] = [];
  seen[0]?.work.onChange(({ body }) => received.push(body));
  await records.commit(OWNER, [{ type: "put", kind: "run", id: "run_1", body: "cancelling", keepWork: true }]);
  await clock.advance(2000);
  expect([received, seen[0]?.work.latest().body]).toEqual([["cancelling"], "cancelling"]);
  await records.commit(OWNER, [{ type: "put", kind: "run", id: "run_1", body: "more", keepWork: true }]);
  worker.refresh("run_1");
  worker.refresh("run_other");
  await settleWork();
  expect(received).toEqual(["cancelling", "more"]);
});

test("work that this edge has just made starts without a poll, and is not claimed again", async () => {
  const { clock, start, add } = open();
  const seen: { id: string; work: WorkLease }[] = [];
  const worker = start(waiting(seen));
  await settleWork();
  const lease = worker.newLease();
  const [record] = await add("run_1", lease);
  if (record) worker.startNow({ record, caller: undefined });
  expect(seen.map(({ id, work }) => [id, work.claim])).toEqual([["run_1", lease.claim]]);
  await clock.advance(60_000);
  expect(seen).toHaveLength(1);
});

test("an edge does no more at once than it may; what is too much is left to others", async () => {
  const { clock, start, add } = open();
  const [here, there]: { id: string; work: WorkLease }[][] = [[], []];
  const worker = start(waiting(here ?? []), { concurrency: { run: 2 } });
  for (const id of ["run_1", "run_2", "run_3"]) await add(id);
  await clock.advance(4000);
  const [record] = await add("run_4", worker.newLease());
  if (record) worker.startNow({ record, caller: undefined });
  await settleWork();
  expect(here?.length).toBe(2);
  start(waiting(there ?? []));
  await clock.advance(4000);
  expect(there?.map(({ id }) => id).toSorted()).toEqual(["run_3", "run_4"]);
});

test("an edge that stops interrupts its work and gives it back: another goes on within a poll", async () => {
  const { clock, start, add } = open();
  const [here, there]: { id: string; work: WorkLease }[][] = [[], []];
  const worker = start(waiting(here ?? []));
  await add("run_1");
  await clock.advance(2000);
  await worker.stop();
  expect(here?.[0]?.work.signal.reason).toMatchObject({ code: "UNAVAILABLE" });
  start(waiting(there ?? []));
  await clock.advance(2200);
  expect(there?.map(({ id }) => id)).toEqual(["run_1"]);
});

test("work whose handler fails is done again when its lease has run out, not at once", async () => {
  const { clock, start, add } = open();
  let tries = 0;
  start(async () => {
    tries++;
    throw new Error("half way");
  });
  await add("run_1");
  await clock.advance(10_000);
  expect(tries).toBe(1);
  await clock.advance(10_000);
  expect(tries).toBe(2);
});

test("a control plane that cannot be asked is asked again", async () => {
  const { clock, records, start, add } = open();
  let asked = 0;
  const shaky = {
    ...boundRecords(records),
    claim: async (...given: Parameters<RecordStore["claim"]>) =>
      asked++ < 3 ? Promise.reject(new Error("away")) : records.claim(...given),
  };
  const seen: { id: string; work: WorkLease }[] = [];
  start(waiting(seen), { records: shaky });
  await add("run_1");
  await clock.advance(10_000);
  expect(seen).toHaveLength(1);
});

test("while nothing is due, one request asks for all kinds; due work of each is found, as far as there is room for it", async () => {
  const { clock, records, start, add } = open();
  const asked: (readonly string[])[] = [];
  const watched = {
    ...boundRecords(records),
    claim: (...given: Parameters<RecordStore["claim"]>) => {
      asked.push(given[0]);
      return records.claim(...given);
    },
  };
  const seen: { id: string; work: WorkLease }[] = [];
  const run = waiting(seen);
  start(run, { records: watched, handlers: { run, batch: run }, concurrency: { run: 3, batch: 1 } });
  await clock.advance(6000);
  expect(new Set(asked.map((kinds) => kinds.join()))).toEqual(new Set(["run,batch"]));
  for (const id of ["run_1", "run_2", "run_3", "run_4"]) await add(id);
  for (const id of ["batch_1", "batch_2"]) {
    await records.commit(OWNER, [{ type: "create", kind: "batch", id, body: {}, createdAtMs: 0, dueAtMs: clock.now() }]);
  }
  await clock.advance(4000);
  expect(seen.map(({ id }) => id).toSorted()).toEqual(["batch_1", "run_1", "run_2", "run_3"]);
});

test("a kind with long records is renewed less often, and is held all the same", async () => {
  const { clock, records, start, add } = open();
  let renewed = 0;
  const renew: RecordStore["renew"] = (held, leaseMs) => {
    renewed++;
    return records.renew(held, leaseMs);
  };
  const seen: { id: string; work: WorkLease }[] = [];
  start(waiting(seen), { records: boundRecords(records, { renew }), renewals: { run: 4000 } });
  await add("run_1");
  await clock.advance(2000);
  start(waiting(seen));
  await clock.advance(60_000);
  expect([seen.length, seen[0]?.work.signal.aborted, renewed]).toEqual([1, false, 15]);
});
