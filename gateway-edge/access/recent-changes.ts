import type { Change } from "../../proto/gen/tributary/access/v1/access.ts";

/** The newest changes heard, so that an answer that was under way when one arrived can be told to be older than it. */
export interface RecentChanges {
  add(change: Change): void;
  /** Whether something that an answer of `revision` depends on may have changed since. */
  isStale(revision: bigint, subjects: readonly string[]): boolean;
  /** Whether any key at all may have changed since: for answers that name no key. */
  mayHaveNewKeys(revision: bigint): boolean;
}

export function createRecentChanges(keptMax: number): RecentChanges {
  const kept: { revision: bigint; subject: string }[] = [];
  // Of what was thrown away we only know that it was not newer than this.
  let forgotten = -1n;

  return {
    add(change) {
      kept.push({ revision: change.revision, subject: subjectOf(change.kind, change.subject) });
      const oldest = kept.length > keptMax ? kept.shift() : undefined;
      if (oldest && oldest.revision > forgotten) forgotten = oldest.revision;
    },
    isStale: (revision, subjects) =>
      revision < forgotten || kept.some((change) => change.revision > revision && subjects.includes(change.subject)),
    mayHaveNewKeys: (revision) =>
      revision < forgotten || kept.some((change) => change.revision > revision && change.subject.startsWith("key:")),
  };
}

export function subjectOf(kind: string, id: string): string {
  return `${kind}:${id}`;
}
