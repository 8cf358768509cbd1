import { FeedPlace, laneOf, revisionOf } from "./feed-place.ts";

test("a revision names its lane and its number, and both fit into one safe integer", () => {
  const last = revisionOf(1023, 2 ** 40 - 1);
  expect([laneOf(last), laneOf(revisionOf(1023, 0)), laneOf(7)]).toEqual([1023, 1023, 0]);
  expect(Number.isSafeInteger(last)).toBe(true);
});

test("a place knows each lane by itself, and counts the rows of all", () => {
  const place = new FeedPlace([revisionOf(3, 5), 9]);
  expect([place.total, place.covers(revisionOf(3, 5)), place.covers(revisionOf(3, 6)), place.covers(revisionOf(2, 1))]).toEqual([
    14,
    true,
    false,
    false,
  ]);
  place.advance(revisionOf(3, 7));
  place.advance(revisionOf(3, 6));
  place.advance(revisionOf(2, 1));
  expect([place.total, place.revisions]).toEqual([17, [revisionOf(3, 7), 9, revisionOf(2, 1)]]);
  expect([place.has(4), place.at(4)]).toEqual([false, revisionOf(4, 0)]);
});
