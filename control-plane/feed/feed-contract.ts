import { systemClock } from "../../common/clock.ts";
import { FeedPlace, laneOf } from "../../common/feed-place.ts";
import { silentLogger } from "../../common/logger.ts";
import { collect } from "../stores/page.ts";
import { organizationScope, type Scope } from "../stores/scopes.ts";
import type { Store } from "../stores/store.ts";
import { appendChange } from "../writes/feed.ts";
import { FeedHub, type FeedMessage } from "./hub.ts";

const DELIVERY_MS_MAX = 1000;
const CHANGES = 120;

/** What the feed promises on every store. `open` gives two control planes' stores over the same data; with one process they are the same. */
export function feedContract(name: string, open: () => Promise<{ left: Store; right: Store; close(): Promise<void> }>): void {
  describe(`the feed over ${name}`, () => {
    let left: Store;
    let right: Store;
    let hub: FeedHub;
    let close: () => Promise<void>;
    beforeEach(async () => {
      ({ left, right, close } = await open());
      hub = new FeedHub({ store: right, clock: systemClock, logger: silentLogger });
      await hub.start();
    });
    afterEach(async () => {
      hub.stop();
      await close();
    });

    const change = (store: Store, subject: string, scopes: Scope | readonly Scope[] = "identity") =>
      store.transaction(scopes, (tx) => appendChange(tx, { kind: "key", subject }, 1));
    const first = async (place: FeedPlace | undefined) => {
      const received: FeedMessage[] = [];
      (await hub.watch(place, (message) => void received.push(message)))();
      return received[0];
    };

    test("a watcher receives what it missed and everything after, in order, and none is lost", async () => {
      await change(left, "a");
      const [row] = await collect(left.scan("feed"));
      await change(left, "b");
      // A change that this control plane reads only while a watch begins may be sent twice.
      await until(() => hub.place.total === 2);
      const received: FeedMessage[] = [];
      const subjects = () => received.flatMap(({ changes }) => changes.map(({ subject }) => subject));
      const stop = await hub.watch(new FeedPlace([row?.id ?? 0]), (message) => void received.push(message));
      expect([received[0]?.resync, received[0]?.changes.map(({ subject }) => subject)]).toEqual([false, ["b"]]);
      for (const subject of ["c", "d", "e"]) await change(left, subject);
      await until(() => new Set(subjects()).size >= 4);
      expect([...new Set(subjects())]).toEqual(["b", "c", "d", "e"]);
      stop();
      const later: FeedMessage[] = [];
      const stopLater = await hub.watch(hub.place, (message) => void later.push(message));
      await change(left, "f");
      // Watchers are notified together: once another one has it, the stopped one would have it too.
      await until(() => later.some(({ changes }) => changes.some(({ subject }) => subject === "f")));
      expect(subjects()).not.toContain("f");
      stopLater();
    });

    test("a change of another control plane arrives within a second, whichever scope it is of", async () => {
      for (const scope of ["identity", "catalog", organizationScope(left, "org_1")] as const) {
        const arrived = Promise.withResolvers<number>();
        const stop = await hub.watch(hub.place, ({ changes }) => {
          if (changes.some(({ subject }) => subject === scope)) arrived.resolve(systemClock.monotonicMs());
        });
        await change(left, scope, scope);
        const committedMs = systemClock.monotonicMs();
        expect((await arrived.promise) - committedMs).toBeLessThan(DELIVERY_MS_MAX);
        stop();
      }
    });

    test("transactions of different scopes share no counter, and one of several scopes is numbered in one of them", async () => {
      const slot = organizationScope(left, "org_1");
      await Promise.all([change(left, "a"), change(right, "b", "catalog"), change(left, "c", slot)]);
      await change(left, "d", [slot, "identity", "audit"]);
      await left.transaction([slot, "identity"], (tx) => appendChange(tx, { kind: "organization", subject: "org_1" }, 1));
      const counters = await collect(left.scan("counters", { from: "feed", before: "feed0" }));
      expect(counters).toEqual([
        { id: "feed/catalog", value: 1 },
        { id: "feed/identity", value: 2 },
        { id: `feed/${slot}`, value: 2 },
      ]);
      await expect(change(left, "e", "federation:fed_1")).rejects.toThrow("cannot append to the feed");
    });

    test("a watcher from before the retained rows, from another store or without a place has to resync", async () => {
      for (const subject of ["a", "b", "c"]) await change(left, subject);
      await change(left, "x", "catalog");
      const rows = await collect(left.scan("feed"));
      const [a, b, c, x] = ["a", "b", "c", "x"].map((subject) => rows.find((row) => row.subject === subject)?.id ?? 0) as [
        number,
        number,
        number,
        number,
      ];
      await left.transaction([], async (tx) => {
        await tx.remove("feed", a);
        await tx.remove("feed", b);
      });
      expect((await first(undefined))?.resync).toBe(true);
      expect((await first(new FeedPlace([x])))?.resync).toBe(true);
      expect((await first(new FeedPlace([x, a])))?.resync).toBe(true);
      expect((await first(new FeedPlace([x, c + 7])))?.resync).toBe(true);
      expect((await first(new FeedPlace([x, b])))?.changes.map(({ subject }) => subject)).toEqual(["c"]);
      expect(await first(new FeedPlace([c]))).toMatchObject({ resync: false, total: 4, changes: [{ subject: "x" }] });
      await left.transaction([], (tx) => tx.remove("feed", c));
      expect((await first(new FeedPlace([x, b])))?.resync).toBe(true);
    });

    test("with interleaved scopes no change is lost, none precedes its commit, and each scope's come in order", async () => {
      const organizations = ["org_1", "org_2", "org_3", "org_4"];
      const scopes: Scope[] = ["identity", "catalog", ...organizations.map((id) => organizationScope(left, id))];
      const received: number[] = [];
      const subjects = new Set<string>();
      const invisible: string[] = [];
      const reads: Promise<void>[] = [];
      let place = hub.place;
      let messages = 0;
      let stop: (() => void) | undefined;
      // Missed changes come before `stop` is known: a watch that resumes again then would never end.
      let isResuming = false;
      let isOver = false;
      const note = ({ id, subject }: FeedMessage["changes"][number]) => {
        if (!place.covers(id)) received.push(id);
        subjects.add(subject);
        reads.push(right.get("idempotency", subject).then((found) => void (found ?? invisible.push(subject))));
      };
      const receive = ({ changes, resync }: FeedMessage) => {
        if (isOver) return;
        expect(resync).toBe(false);
        for (const each of changes) note(each);
        place = new FeedPlace([...place.revisions, ...changes.map(({ id }) => id)]);
        // It leaves and resumes from its place while changes are on their way.
        if (changes.length > 0 && !isResuming && ++messages % 3 === 0) {
          stop?.();
          reads.push(resume());
        }
      };
      const resume = async () => {
        isResuming = true;
        stop = await hub.watch(place, receive);
        isResuming = false;
      };
      await resume();
      const write = (index: number) => {
        const subject = `key_${index}`;
        const own = scopes[index % scopes.length] as Scope;
        const held = index % 7 === 0 ? [own, "audit" as const] : [own];
        return (index % 2 ? left : right).transaction(held, async (tx) => {
          await tx.put("idempotency", { id: subject, requestHash: "h", expiresAt: 1 });
          await appendChange(tx, { kind: "key", subject }, 1);
        });
      };
      for (let start = 0; start < CHANGES; start += 12) {
        await Promise.all(Array.from({ length: 12 }, (_, offset) => write(start + offset)));
      }
      await until(() => subjects.size === CHANGES);
      // What begins after this would meet a closed store.
      isOver = true;
      await Promise.all(reads);
      stop?.();
      expect(invisible).toEqual([]);
      for (const [, ofLane] of Map.groupBy(received, laneOf)) expect(ofLane).toEqual([...ofLane].sort((one, other) => one - other));
      expect(place.total).toBe(CHANGES);
    });

    test("a heartbeat comes about every second while the store can be read", async () => {
      let beats = 0;
      await hub.watch(undefined, () => void beats++);
      await until(() => beats >= 3);
    });
  });
}

async function until(condition: () => boolean): Promise<void> {
  for (let turn = 0; turn < 6000 && !condition(); turn++) await systemClock.sleep(10);
  expect(condition()).toBe(true);
}
