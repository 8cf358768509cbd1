import type { Participant } from "../../../proto/gen/tributary/training/v1/training.ts";
import type { ModelLayout } from "../../privacy/secure-work.ts";
import { shapeMismatch } from "../updates/inspect-update.ts";
import type { Introduced } from "./participants.ts";

/** A participant's answer to the train step of a secure round. */
interface Introduction {
  readonly participant: Participant;
  readonly introduced: Introduced;
  readonly durationMs: number;
}

/**
 * Which introductions of a secure round can be summed together. Those of a round with a base have its layout. Without a base the layout that
 * most of them have counts, and not that of the first arrival, which one participant would decide for all.
 */
interface Introductions {
  /** Throws ParticipantProblem for tensors other than those of the round's base. */
  require(one: Introduced): void;
  add(one: Introduction): void;
  /** How many of them fit together. */
  count(): number;
  /** Each sorted by id, independent of the order of arrival. */
  sorted(): { readonly fitting: readonly Introduction[]; readonly misfits: readonly Introduction[] };
}

/** Opens the introductions of a round whose base, if it has one, has this layout. */
export function openIntroductions(base: ModelLayout | undefined): Introductions {
  const groups = new Map<string, Introduction[]>();
  return {
    require: ({ layout }) => {
      if (base !== undefined && keyOf(layout) !== keyOf(base)) throw shapeMismatch();
    },
    add: (one) => {
      const key = keyOf(one.introduced.layout);
      groups.set(key, [...(groups.get(key) ?? []), one]);
    },
    count: () => Math.max(0, ...[...groups.values()].map((group) => group.length)),
    sorted: () => {
      const [fitting = [], ...others] = [...groups].sort(byWeight).map(([, group]) => group);
      return { fitting: fitting.toSorted(byId), misfits: others.flat().toSorted(byId) };
    },
  };
}

const keyOf = (layout: ModelLayout): string => JSON.stringify(layout);

/** Orders by the number of introductions, then by their samples, then by the least layout: the order of arrival decides nothing. */
function byWeight([key, group]: [string, Introduction[]], [otherKey, other]: [string, Introduction[]]): number {
  return other.length - group.length || samplesOf(other) - samplesOf(group) || (key < otherKey ? -1 : 1);
}

const samplesOf = (group: readonly Introduction[]): number => group.reduce((sum, { introduced }) => sum + (introduced.samples ?? 0), 0);

const byId = ({ participant: one }: Introduction, { participant: other }: Introduction): number => (one.id < other.id ? -1 : 1);
