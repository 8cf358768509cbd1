import { systemClock } from "../../common/clock.ts";
import { silentLogger } from "../../common/logger.ts";
import { openTestStore } from "../stores/test-store.ts";
import { appendChange } from "../writes/feed.ts";
import { feedContract } from "./feed-contract.ts";
import { FeedHub } from "./hub.ts";

feedContract("the embedded store", async () => {
  const { store, close } = openTestStore();
  return { left: store, right: store, close };
});

test("figures count rows that were sent, with the longest time to their sending, and age while the feed cannot be read", async () => {
  const { store, close } = openTestStore();
  let nowMs = 5000;
  const clock = { ...systemClock, now: () => nowMs, monotonicMs: () => nowMs };
  const hub = new FeedHub({ store, clock, logger: silentLogger });
  await hub.start();
  const sent = Promise.withResolvers<void>();
  await hub.watch(hub.place, ({ changes }) => changes.length > 0 && sent.resolve());
  await store.transaction("identity", async (tx) => {
    await appendChange(tx, { kind: "key", subject: "a" }, 4000);
    await appendChange(tx, { kind: "key", subject: "b" }, 4700);
  });
  await sent.promise;
  expect(hub.figures).toEqual({ rows: 2, lagMs: 1000, ageMs: 0 });
  hub.stop();
  nowMs += 3000;
  expect(hub.figures.ageMs).toBe(3000);
  await close();
});
