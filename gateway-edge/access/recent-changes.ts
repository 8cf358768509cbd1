import { FeedPlace, laneOf } from "../../common/feed-place.ts";
import type { Change } from "../../proto/gen/tributary/access/v1/access.ts";

/** The newest changes of the feed, to detect that an answer in flight is older than a change that arrived meanwhile. */
export interface RecentChanges {
  add(change: Change): void;
  /** Whether one of `subjects` may have changed after a place. */
  isStale(place: FeedPlace, subjects: readonly string[]): boolean;
  /** Whether any key may have changed after a place: for answers without a caller. */
  mayHaveNewKeys(place: FeedPlace): boolean;
}

export function createRecentChanges(countMax: number): RecentChanges {
  const recent: { revision: number; subject: string }[] = [];
  /** The newest change of each lane that was dropped from `recent`. */
  const forgotten = new FeedPlace();
  // An answer names the lanes that can have changes of its subjects; of others nothing is missed.
  const mayHaveForgotten = (place: FeedPlace) =>
    forgotten.revisions.some((revision) => place.has(laneOf(revision)) && !place.covers(revision));

  return {
    add(change) {
      recent.push({ revision: Number(change.revision), subject: subjectOf(change.kind, change.subject) });
      const oldest = recent.length > countMax ? recent.shift() : undefined;
      if (oldest) forgotten.advance(oldest.revision);
    },
    isStale: (place, subjects) =>
      mayHaveForgotten(place) || recent.some((change) => subjects.includes(change.subject) && !place.covers(change.revision)),
    mayHaveNewKeys: (place) =>
      mayHaveForgotten(place) || recent.some((change) => change.subject.startsWith("key:") && !place.covers(change.revision)),
  };
}

export function subjectOf(kind: string, id: string): string {
  return `${kind}:${id}`;
}
