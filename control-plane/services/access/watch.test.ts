import { systemClock } from "../../../common/clock.ts";
import type { ServerStream } from "../../../common/grpc/server.ts";
import { secretSha256 } from "../../../common/key-shape.ts";
import { silentLogger } from "../../../common/logger.ts";
import type { WatchRequest, WatchResponse } from "../../../proto/gen/tributary/access/v1/access.ts";
import { FeedHub } from "../../feed/hub.ts";
import { organizationScope } from "../../stores/scopes.ts";
import { appendChange } from "../../writes/feed.ts";
import { keysHandlers } from "../keys/service.ts";
import { openPlatform, type Platform } from "../platform-fixture.ts";
import { accessHandlers } from "./service.ts";

let platform: Platform;
let feed: FeedHub;
let handlers: ReturnType<typeof accessHandlers>;
const stopping = new AbortController();

beforeAll(async () => {
  platform = await openPlatform();
  const { store } = platform.deps;
  feed = new FeedHub({ store, clock: systemClock, logger: silentLogger });
  await feed.start();
  handlers = accessHandlers({ ...platform.deps, feed }, { hash: undefined, sha256: undefined });
});
afterAll(async () => {
  stopping.abort();
  feed.stop();
  await platform.close();
});

/** What an edge with this request receives, without heartbeats. */
function watch(request: Partial<WatchRequest>, { on = handlers, end = () => {} } = {}): WatchResponse[] {
  const received: WatchResponse[] = [];
  const stream: ServerStream<WatchResponse> = {
    signal: stopping.signal,
    metadata: {},
    write: (message) => {
      if (message.resync || message.changes.length > 0) received.push(message);
      return true;
    },
    drained: async () => {},
    end,
    fail: () => {},
  };
  on.watch({ afterRevision: 0n, edgeId: "edge-1", place: undefined, withoutChanges: false, ...request }, stream);
  return received;
}

async function until(condition: () => boolean): Promise<void> {
  for (let turn = 0; turn < 500 && !condition(); turn++) await systemClock.sleep(10);
  expect(condition()).toBe(true);
}

test("an edge that knows one number resyncs when it connects and with every change; one that sends a place receives the changes", async () => {
  const { store } = platform.deps;
  const scope = organizationScope(store, platform.organization.id);
  const snapshot = await handlers.getSnapshot({}, platform.as("anonymous"));
  const former = watch({ afterRevision: snapshot.revision });
  const current = watch({ place: snapshot.place });
  await until(() => former.length === 1);
  expect(former[0]).toMatchObject({ resync: true, changes: [], revision: snapshot.revision });
  const change = { kind: "organization", subject: platform.organization.id } as const;
  await store.transaction(scope, (tx) => appendChange(tx, change, 1));
  await until(() => former.length === 2 && current.length === 1);
  // Its next heartbeat must not be behind the snapshot that it loads now.
  expect(former[1]).toMatchObject({ resync: true, changes: [], revision: snapshot.revision + 1n });
  expect((await handlers.getSnapshot({}, platform.as("anonymous"))).revision).toBe(snapshot.revision + 1n);
  expect(current[0]).toMatchObject({ resync: false, changes: [change] });
});

test("the answer to a key names the lanes that can have changes of its caller, and is not newer than what was read", async () => {
  const before = await handlers.resolveKey({ secretSha256: Buffer.alloc(32, 7), more: [] }, platform.as("anonymous"));
  await platform.deps.store.transaction("identity", (tx) => appendChange(tx, { kind: "key", subject: "key_1" }, 1));
  await until(() => feed.place.total > Number(before.revision));
  const after = await handlers.resolveKey({ secretSha256: Buffer.alloc(32, 7), more: [] }, platform.as("anonymous"));
  expect(after.revision).toBe(before.revision + 1n);
  const moved = after.place?.revisions.filter((revision) => !before.place?.revisions.includes(revision));
  expect(moved?.map(Number)).toEqual(feed.place.revisions.filter((revision) => moved?.includes(BigInt(revision))));
  expect(moved).toHaveLength(1);
});

test("each of several keys has its own answer, in the order of the request, and no more than a thousand are asked for at once", async () => {
  const keys = keysHandlers(platform.deps);
  const create = (name: string) => keys.createKey({ name, teamId: platform.team.id, limits: undefined }, platform.as("member"));
  const made = [await create("first"), await create("second")];
  const [first, second] = made.map(({ key }) => secretSha256(key)) as [Buffer, Buffer];
  const unknown = Buffer.alloc(32, 9);
  const { more, ...own } = await handlers.resolveKey({ secretSha256: second, more: [unknown, first] }, platform.as("anonymous"));
  expect([own, ...more].map(({ caller }) => caller?.keyId)).toEqual([made[1]?.apiKey?.id, undefined, made[0]?.apiKey?.id]);
  expect(more.every(({ place, revision }) => place !== undefined && revision === own.revision)).toBe(true);
  const tooMany = { secretSha256: first, more: Array.from({ length: 1001 }, () => unknown) };
  await expect(handlers.resolveKey(tooMany, platform.as("anonymous"))).rejects.toMatchObject({ code: "VALIDATION_ERROR" });
});

test("watches end when the control plane stops, with or without changes, also one that opens then", async () => {
  const { store } = platform.deps;
  const hub = new FeedHub({ store, clock: systemClock, logger: silentLogger });
  await hub.start();
  const on = accessHandlers({ ...platform.deps, clock: systemClock, feed: hub }, { hash: undefined, sha256: undefined });
  const ended: string[] = [];
  const received = watch({}, { on, end: () => void ended.push("changes") });
  watch({ withoutChanges: true }, { on, end: () => void ended.push("no changes") });
  await until(() => received.length === 1);
  expect(ended).toEqual([]);
  hub.stop();
  expect(ended.toSorted()).toEqual(["changes", "no changes"]);
  watch({ withoutChanges: true }, { on, end: () => void ended.push("late") });
  await until(() => ended.length === 3);
  expect(ended[2]).toBe("late");
});
