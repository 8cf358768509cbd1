import type { Change } from "../../proto/gen/tributary/access/v1/access.ts";

/** The newest changes of the feed, to detect that an answer in flight is older than a change that arrived meanwhile. */
export interface RecentChanges {
  add(change: Change): void;
  /** Whether one of `subjects` may have changed after `revision`. */
  isStale(revision: bigint, subjects: readonly string[]): boolean;
  /** Whether any key may have changed after `revision`: for answers without a caller. */
  mayHaveNewKeys(revision: bigint): boolean;
}

export function createRecentChanges(countMax: number): RecentChanges {
  const recent: { revision: bigint; subject: string }[] = [];
  // The newest revision that was dropped from `recent`.
  let forgotten = -1n;

  return {
    add(change) {
      recent.push({ revision: change.revision, subject: subjectOf(change.kind, change.subject) });
      const oldest = recent.length > countMax ? recent.shift() : undefined;
      if (oldest && oldest.revision > forgotten) forgotten = oldest.revision;
    },
    isStale: (revision, subjects) =>
      revision < forgotten || recent.some((change) => change.revision > revision && subjects.includes(change.subject)),
    mayHaveNewKeys: (revision) =>
      revision < forgotten || recent.some((change) => change.revision > revision && change.subject.startsWith("key:")),
  };
}

export function subjectOf(kind: string, id: string): string {
  return `${kind}:${id}`;
}
