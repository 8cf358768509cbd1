import { FeedPlace, revisionOf } from "../../common/feed-place.ts";
import { silentLogger } from "../../common/logger.ts";
import type { Change, Deployment, GetSnapshotResponse } from "../../proto/gen/tributary/access/v1/access.ts";
import { deployment, FakeWatch } from "../server/http/testing/edge-fixture.ts";
import { createCatalog } from "./catalog.ts";
import { fakeClock, settleWork } from "./clock-fixture.ts";
import { startWatch } from "./watch.ts";

function open() {
  const clock = fakeClock();
  const state = { received: [] as Change[], signs: 0, recovered: 0, reconnected: 0, opened: [] as bigint[][], deadlines: [] as number[] };
  const streams: FakeWatch[] = [];
  const watch = startWatch(new FeedPlace([10]), {
    open: (request, { deadlineMs }) => {
      state.opened.push([request.afterRevision, ...(request.place?.revisions ?? [])]);
      state.deadlines.push(deadlineMs);
      const stream = new FakeWatch();
      streams.push(stream);
      return stream;
    },
    clock,
    random: { bytes: (count) => Buffer.alloc(count, 128) },
    logger: silentLogger,
    edgeId: "edge-0",
    flush: () => {},
    reconnect: () => {
      state.reconnected++;
    },
    receive: (changes) => {
      state.signs++;
      state.received.push(...changes);
    },
    recover: async () => {
      state.recovered++;
      return new FeedPlace([50]);
    },
  });
  const stream = () => streams.at(-1) as FakeWatch;
  return { clock, state, watch, stream };
}

const change = (revision: bigint): Change => ({ revision, kind: "key", subject: "key_1" });

test("a stream that ends is opened again from the last change received", async () => {
  const { clock, state, watch, stream } = open();
  stream().push({ changes: [change(11n), change(12n)], revision: 12n });
  stream().push({ revision: 15n });
  await settleWork();
  stream().end(Object.assign(new Error("gone"), { code: 14 }));
  await clock.advance(100);
  expect(state.opened).toEqual([
    [10n, 10n],
    [12n, 12n],
  ]);
  expect([state.received.length, state.signs, state.recovered]).toEqual([2, 2, 0]);
  expect(state.deadlines.every((ms) => ms > 200_000 && ms <= 300_000)).toBe(true);
  await watch.stop();
});

test("each lane is resumed from its own last change, and changes that may be rolled back do not count", async () => {
  const { clock, state, watch, stream } = open();
  const [lane3, lane9] = [(number: number) => BigInt(revisionOf(3, number)), (number: number) => BigInt(revisionOf(9, number))];
  stream().push({ changes: [change(lane9(1)), change(lane3(1)), change(lane3(2))], revision: 13n });
  stream().push({ changes: [change(lane3(3))], revision: 14n, noPrimary: true });
  await settleWork();
  stream().end(Object.assign(new Error("gone"), { code: 14 }));
  await clock.advance(100);
  expect(state.opened.at(-1)).toEqual([10n, 10n, lane9(1), lane3(2)]);
  expect([state.received.length, state.recovered]).toEqual([4, 0]);
  await watch.stop();
});

test("attempts that receive nothing back off to 300 ms", async () => {
  const { clock, state, watch, stream } = open();
  for (const waitMs of [100, 200, 300, 300]) {
    const before = state.opened.length;
    stream().end(Object.assign(new Error("down"), { code: 14 }));
    await clock.advance(waitMs - 1);
    expect(state.opened.length).toBe(before);
    await clock.advance(1);
    expect(state.opened.length).toBe(before + 1);
  }
  expect(state.recovered).toBe(0);
  await watch.stop();
});

test.each([
  ["resync", (stream: FakeWatch) => stream.push({ resync: true, revision: 90n })],
  ["a control plane that is behind us", (stream: FakeWatch) => stream.push({ revision: 3n })],
  ["a refusal to resume", (stream: FakeWatch) => stream.end(Object.assign(new Error("unknown revision"), { code: 3 }))],
])("%s drops everything and goes on from the new state", async (_name, happen) => {
  const { clock, state, watch, stream } = open();
  happen(stream());
  await settleWork();
  stream().end();
  await clock.advance(100);
  expect(state.recovered).toBe(1);
  expect(state.opened).toEqual([
    [10n, 10n],
    [50n, 50n],
  ]);
  await watch.stop();
});

test("a silent stream is closed, with its connection, within five seconds; a busy control plane's is not", async () => {
  const { clock, state, watch, stream } = open();
  stream().push({ revision: 10n });
  await settleWork();
  await clock.advance(4200);
  expect([state.opened.length, state.reconnected]).toEqual([1, 0]);
  await clock.advance(700);
  expect([state.opened.length, state.reconnected]).toEqual([2, 1]);
  await watch.stop();
});

test("the catalog loads until it is there, once more when a change overtook its snapshot, and waits for none that a restored store lost", async () => {
  const clock = fakeClock();
  const stopping = new AbortController();
  const script: (() => Promise<GetSnapshotResponse>)[] = [];
  let calls = 0;
  const snapshot = (revision: bigint, ...names: string[]): GetSnapshotResponse => ({
    deployments: names.map((modelName) => deployment({ modelName })),
    masterKeySha256: undefined,
    settings: "{}",
    revision,
    instance: "plane-1",
  });
  let taken: string[] = [];
  const take = ({ deployments }: { deployments: readonly Deployment[] }) => {
    taken = deployments.map(({ modelName }) => modelName);
  };
  const getSnapshot = async () => {
    calls++;
    return await (script.shift() ?? (async () => snapshot(9n, "c")))();
  };
  const catalog = createCatalog({ access: { getSnapshot }, clock, logger: silentLogger, signal: stopping.signal, take });
  script.push(async () => {
    throw new Error("not yet");
  });
  script.push(async () => snapshot(1n, "a", "b", "a"));
  const loaded = catalog.load();
  await clock.advance(100);
  expect((await loaded).revisions).toEqual([1]);
  expect(taken).toEqual(["a", "b", "a"]);
  // Execute: many changes at once; the first answer is older than the last change.
  script.push(async () => snapshot(4n, "b"));
  for (const revision of [3n, 4n, 5n]) catalog.changed(revision);
  await clock.advance(200);
  // Assert
  expect(taken).toEqual(["c"]);
  expect(calls).toBe(4);
  // The process it was loaded from is known; another one may have started with another configuration.
  catalog.receivedFrom("plane-1");
  await clock.advance(100);
  expect(calls).toBe(4);
  script.push(async () => ({ ...snapshot(9n, "d"), instance: "plane-2" }));
  for (let beat = 0; beat < 3; beat++) catalog.receivedFrom("plane-2");
  await clock.advance(100);
  expect([calls, taken]).toEqual([5, ["d"]]);
  // The store was restored: the change that it waits for does not exist any more.
  for (let attempt = 0; attempt < 3; attempt++) script.push(async () => snapshot(2n, "restored"));
  catalog.changed(20n);
  await clock.advance(100);
  const anew = catalog.loadAnew();
  await clock.advance(200);
  expect((await anew).revisions).toEqual([2]);
  expect(catalog.isMasterKey(Buffer.alloc(32))).toBe(false);
});
