import { FeedPlace, revisionOf } from "../../common/feed-place.ts";
import { createRecentChanges } from "./recent-changes.ts";

const key = (lane: number, number: number, subject = `key_${lane}_${number}`) => ({
  revision: BigInt(revisionOf(lane, number)),
  kind: "key",
  subject,
});

test("an answer is stale if a change of its subject is not in its place, whatever the numbers of other lanes are", () => {
  const recent = createRecentChanges(10);
  recent.add(key(1, 5, "key_1"));
  recent.add(key(20, 900, "key_2"));
  const place = new FeedPlace([revisionOf(1, 4), revisionOf(20, 900)]);
  expect([recent.isStale(place, ["key:key_1"]), recent.isStale(place, ["key:key_2"])]).toEqual([true, false]);
  expect([recent.mayHaveNewKeys(place), recent.mayHaveNewKeys(new FeedPlace([revisionOf(1, 5), revisionOf(20, 900)]))]).toEqual([
    true,
    false,
  ]);
  // A lane that the answer does not name.
  expect(recent.isStale(new FeedPlace([revisionOf(1, 5)]), ["key:key_2"])).toBe(true);
});

test("changes that were forgotten make an answer stale in the lanes that it names, and in no other", () => {
  const recent = createRecentChanges(2);
  for (const number of [1, 2, 3, 4]) recent.add(key(1, number));
  expect(recent.isStale(new FeedPlace([revisionOf(1, 1)]), ["key:other"])).toBe(true);
  expect(recent.isStale(new FeedPlace([revisionOf(1, 2)]), ["key:other"])).toBe(false);
  expect(recent.isStale(new FeedPlace([revisionOf(2, 1)]), ["key:other"])).toBe(false);
});
