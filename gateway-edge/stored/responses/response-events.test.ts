import { AppError } from "../../../common/errors.ts";
import { silentLogger } from "../../../common/logger.ts";
import { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import { fakeClock } from "../../access/clock-fixture.ts";
import { frameOf } from "../../calls/dialects/responses/frames.ts";
import { boundRecords } from "../records/bound-records-fixture.ts";
import { createMemoryRecords } from "../records/memory-records-fixture.ts";
import type { RecordStore } from "../records/records.ts";
import { followResponse } from "./follow-response.ts";
import { type EventsBody, openEventLog, removeEvents } from "./response-events.ts";
import { ResponseFeed } from "./response-feed.ts";

const OWNER = { teamId: "team_1", organizationId: "org_1", keyId: "key_1" };
const CALLER = Caller.fromPartial({ ...OWNER, status: "active" });
const HOUR_MS = 3_600_000;
const said = (delta: string, place = 0, more = {}) =>
  frameOf({ type: "response.output_text.delta", item_id: "msg_1", output_index: place, delta, sequence_number: 7, ...more });

/** A response that an edge holds under the claim `a`. */
async function open(change: (records: RecordStore) => Partial<RecordStore> = () => ({})) {
  const clock = fakeClock();
  const memory = createMemoryRecords({ clock });
  const records = boundRecords(memory, change(memory));
  const feed = new ResponseFeed();
  const deps = { records, clock, logger: silentLogger, feed };
  const body = {
    response: { id: "resp_1", status: "in_progress" },
    input: [],
    work: { asked: { model: "m", stream: true }, messages: [] },
  };
  const held = { claim: "a", dueAtMs: clock.now() + 1000 };
  const [record] = await memory.commit(OWNER, [
    { type: "create", kind: "response", id: "resp_1", body, createdAtMs: clock.now(), ...held },
  ]);
  if (!record) throw new Error("the response must be there");
  const abort = new AbortController();
  const log = await openEventLog(deps, record, { claim: "a", signal: abort.signal });
  const list = () => memory.list<EventsBody>("team_1", "response_events", { parentId: "resp_1", order: "asc", limit: 1000 });
  const stored = async () => (await list()).records.flatMap((each) => each.body.events);
  const deltas = async () => (await stored()).map(({ frame }) => (JSON.parse(frame.split("data: ")[1] ?? "") as { delta: string }).delta);
  const end = async (events = { last: 99 }) => {
    const ended = { response: { id: "resp_1", status: "completed", usage: null }, input: [], events };
    await memory.commit(OWNER, [{ type: "put", kind: "response", id: "resp_1", body: ended, claim: "a" }]);
    feed.changed("resp_1", "state");
  };
  return { clock, memory, deps, log, abort, list, stored, deltas, end };
}

test("consecutive deltas of a text are stored as one event, and events expire within hours of their response", async () => {
  const { clock, log, list, stored, deltas } = await open();
  for (const text of ["Go", "od\u2028", "\u2029day"]) log.add(said(text, 0, { logprobs: [text], obfuscation: "x" }));
  log.add(said("other", 1));
  await clock.advance(250);
  log.add(said("later", 1));
  await log.end();
  expect(await deltas()).toEqual(["Good\u2028\u2029day", "other", "later"]);
  expect((await stored()).map(({ number }) => number)).toEqual([0, 1, 2]);
  expect((await stored())[0]?.frame).toContain('"logprobs":["Go",');
  for (const { expiresAtMs = 0, createdAtMs } of (await list()).records) expect(expiresAtMs - createdAtMs).toBe(2 * HOUR_MS);
});

/** Commits as a control plane of the release before answers them: it does not know `held`. */
const ofOlderRelease = (memory: RecordStore): Partial<RecordStore> => ({
  commit: (owner, writes) => {
    if (writes.some(({ type }) => type === "held")) {
      throw new AppError("VALIDATION_ERROR", "Each write must be one of create, put and remove.");
    }
    return memory.commit(owner, writes);
  },
});

test("at a control plane of the release before, all events are stored and can be resumed after", async () => {
  const opened = await open(ofOlderRelease);
  const { clock, log, deltas, end } = opened;
  for (const [place, text] of ["one", "two", "three"].entries()) {
    log.add(said(text, place));
    await clock.advance(250);
  }
  const ended = await log.end();
  expect(await deltas()).toEqual(["one", "two", "three"]);
  await end(ended);
  const { frames, done } = follow(opened, 0);
  expect(await done).toBe("ended");
  expect(frames.map((frame) => /"delta":"(\w+)"/.exec(frame)?.[1])).toEqual(["two", "three", undefined]);
});

test("events that a control plane refuses for what they are get lost once, without a repeated commit for each", async () => {
  let commits = 0;
  const { log, deltas } = await open(() => ({
    commit: async () => {
      commits++;
      throw new AppError("VALIDATION_ERROR", "The body is too long.");
    },
  }));
  log.add(said("one"));
  await log.end();
  log.add(said("two", 1));
  await log.end();
  expect([commits, await deltas()]).toEqual([2, []]);
});

test("no events are stored after the claim is lost, the response is deleted, or the edge stops", async () => {
  const taken = await open();
  await taken.clock.advance(1000);
  await taken.memory.claim(["response"], { claim: "b", leaseMs: 1000, limit: 1 });
  taken.log.add(said("late"));
  await taken.log.end();
  expect(await taken.stored()).toEqual([]);

  const deleted = await open();
  deleted.log.add(said("said"));
  await deleted.clock.advance(250);
  expect(await deleted.deltas()).toEqual(["said"]);
  await removeEvents(deleted.deps, OWNER, "resp_1");
  await deleted.memory.commit(OWNER, [{ type: "remove", kind: "response", id: "resp_1" }]);
  deleted.log.add(said("late"));
  await deleted.log.end();
  expect(await deleted.stored()).toEqual([]);

  const stopped = await open();
  stopped.log.add(said("late"));
  stopped.abort.abort();
  await stopped.log.end();
  expect(await stopped.stored()).toEqual([]);
});

test("a commit whose answer was lost is not repeated differently; events of another edge under the same numbers are not taken as own", async () => {
  let isAway = true;
  const lossy = await open((records) => ({
    commit: async (owner, writes) => {
      const answer = await records.commit(owner, writes);
      if (isAway) throw new AppError("UNAVAILABLE", "The answer was lost.");
      return answer;
    },
  }));
  lossy.log.add(said("one"));
  await lossy.clock.advance(250);
  isAway = false;
  lossy.log.add(said("two"));
  const ended = lossy.log.end();
  await lossy.clock.advance(1000);
  await ended;
  expect(await lossy.deltas()).toEqual(["one", "two"]);

  const { memory, log, stored, clock } = await open();
  const foreign = { events: [{ number: 0, frame: "foreign" }] };
  const record = { kind: "response_events", id: "resp_1.0", parentId: "resp_1", createdAtMs: clock.now() } as const;
  await memory.commit(OWNER, [{ type: "create", ...record, body: foreign }]);
  log.add(said("own"));
  await clock.advance(250);
  log.add(said("own too"));
  await log.end();
  expect(await stored()).toEqual(foreign.events);
});

function follow({ deps, clock }: Awaited<ReturnType<typeof open>>, after = -1) {
  const frames: string[] = [];
  const abort = new AbortController();
  const done = (async () => {
    const follower = { caller: CALLER, id: "resp_1", after, include: [], signal: abort.signal };
    for await (const frame of followResponse(deps, follower)) frames.push(frame);
    return "ended";
  })();
  return { frames, done, advance: clock.advance };
}

test("a reader reads the response only when it has ended, or seldom, but gets every event at once", async () => {
  let reads = 0;
  const opened = await open((records) => ({
    get: async (teamId, kind, id) => {
      if (kind === "response") reads++;
      return await records.get(teamId, kind, id);
    },
  }));
  const { frames, done } = follow(opened);
  for (let round = 1; round <= 7; round++) {
    opened.log.add(said("word", round));
    await opened.clock.advance(250);
    expect(frames).toHaveLength(round);
  }
  expect(reads).toBe(1);
  await opened.end();
  expect(await done).toBe("ended");
  expect([reads, frames.length]).toEqual([2, 8]);
});

test("a reader outlasts a control plane that is away, and ends when the response is deleted", async () => {
  let isAway = true;
  const opened = await open((records) => ({
    get: async (teamId, kind, id) => {
      if (isAway) throw new AppError("DB_TIMEOUT", "The control plane is overloaded.");
      return await records.get(teamId, kind, id);
    },
  }));
  const { frames, done } = follow(opened);
  opened.log.add(said("said"));
  await opened.clock.advance(1000);
  expect(frames).toEqual([]);
  isAway = false;
  await opened.clock.advance(1000);
  expect(frames).toHaveLength(1);
  await opened.memory.commit(OWNER, [{ type: "remove", kind: "response", id: "resp_1", withChildren: true }]);
  await opened.clock.advance(2500);
  expect([await done, frames.length]).toEqual(["ended", 1]);
});
