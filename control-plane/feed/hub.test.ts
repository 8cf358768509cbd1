import { systemClock } from "../../common/clock.ts";
import { silentLogger } from "../../common/logger.ts";
import type { Store } from "../stores/store.ts";
import { openTestStore } from "../stores/test-store.ts";
import { appendChange } from "../writes/feed.ts";
import { FeedHub, type FeedMessage } from "./hub.ts";

const change = (store: Store, subject: string) => store.transaction("every", (tx) => appendChange(tx, { kind: "key", subject }, 1));

async function withHub(work: (store: Store, hub: FeedHub) => Promise<void>): Promise<void> {
  const { store, close } = openTestStore();
  const hub = new FeedHub({ store, clock: systemClock, logger: silentLogger });
  await hub.start();
  try {
    await work(store, hub);
  } finally {
    hub.stop();
    await close();
  }
}

async function until(condition: () => boolean): Promise<void> {
  for (let turn = 0; turn < 300 && !condition(); turn++) await systemClock.sleep(10);
  expect(condition()).toBe(true);
}

test("a watcher hears what it missed and everything after, in order, and none is lost", () =>
  withHub(async (store, hub) => {
    await change(store, "a");
    await change(store, "b");
    const received: FeedMessage[] = [];
    const subjects = () => received.flatMap(({ changes }) => changes.map(({ subject }) => subject));
    const stop = await hub.watch(1, (message) => void received.push(message));
    expect([received[0]?.resync, received[0]?.changes.map(({ subject }) => subject)]).toEqual([false, ["b"]]);
    await Promise.all(["c", "d", "e"].map((subject) => change(store, subject)));
    await until(() => new Set(subjects()).size >= 4);
    expect([...new Set(subjects())]).toEqual(["b", "c", "d", "e"]);
    stop();
    const later: FeedMessage[] = [];
    const stopLater = await hub.watch(5, (message) => void later.push(message));
    await change(store, "f");
    // Watchers are notified together: once another one has it, the stopped one would have it too.
    await until(() => later.some(({ changes }) => changes.some(({ subject }) => subject === "f")));
    expect(subjects()).not.toContain("f");
    stopLater();
  }));

test("a watcher from before the retained rows, or from another store, has to resync", () =>
  withHub(async (store, hub) => {
    for (const subject of ["a", "b", "c"]) await change(store, subject);
    await store.transaction("every", async (tx) => {
      await tx.remove("feed", 1);
      await tx.remove("feed", 2);
    });
    const first = async (revision: number) => {
      const received: FeedMessage[] = [];
      (await hub.watch(revision, (message) => void received.push(message)))();
      return received[0];
    };
    expect((await first(0))?.resync).toBe(true);
    expect((await first(99))?.resync).toBe(true);
    expect(await first(2)).toMatchObject({ resync: false, revision: 3 });
  }));

test("a heartbeat comes about every second while the store can be read", () =>
  withHub(async (_store, hub) => {
    let beats = 0;
    await hub.watch(0, () => void beats++);
    await until(() => beats >= 3);
  }));
