import type { Clock } from "../../../common/clock.ts";
import type { Participant } from "../../../proto/gen/tributary/training/v1/training.ts";

/** A node that did not answer in time gets no calls for this time, unless no other is left. */
const SKIPPED_MS = 30_000;
const SKIPPED_NODES_MAX = 1000;

/** How long something may take. */
export interface TimeLimit {
  readonly signal: AbortSignal;
  isOver(): boolean;
  leftMs(): number;
  clear(): void;
}

/** A signal that aborts with the given one, or after a time. */
export function timeLimit(clock: Clock, milliseconds: number, signal: AbortSignal): TimeLimit {
  const late = new AbortController();
  const endMs = clock.monotonicMs() + milliseconds;
  const clear = clock.after(milliseconds, () => late.abort());
  const leftMs = () => Math.max(0, Math.ceil(endMs - clock.monotonicMs()));
  return { signal: AbortSignal.any([signal, late.signal]), isOver: () => late.signal.aborted, leftMs, clear };
}

/** The nodes that did not answer in time: a node that hangs is to cost one call its time, and not its share of all calls. */
export function recentTimeouts({ clock }: { readonly clock: Clock }) {
  const untilMs = new Map<string, number>();
  const keyOf = (federationId: string, { id }: Participant) => `${federationId} ${id}`;
  return {
    add: (federationId: string, node: Participant): void => {
      if (untilMs.size >= SKIPPED_NODES_MAX) untilMs.clear();
      untilMs.set(keyOf(federationId, node), clock.monotonicMs() + SKIPPED_MS);
    },
    without: (federationId: string, nodes: readonly Participant[]): readonly Participant[] => {
      if (untilMs.size === 0) return nodes;
      const fast = nodes.filter((node) => (untilMs.get(keyOf(federationId, node)) ?? 0) <= clock.monotonicMs());
      return fast.length > 0 ? fast : nodes;
    },
  };
}
