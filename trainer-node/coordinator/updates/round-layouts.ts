import type { Round, RoundParticipant } from "../../../proto/gen/tributary/training/v1/training.ts";
import type { FederationRun } from "../deps.ts";
import { ParticipantProblem } from "../participants/participant-problem.ts";
import { layoutOfBlob } from "./inspect-blob.ts";
import { type Layout, requireLayout } from "./inspect-update.ts";

/**
 * Which accepted updates of a round can be aggregated together. Those of a round with a base have its layout. Without a base the layout that
 * most of them have counts when the round closes, and not that of the first arrival, which one participant would decide for all.
 */
export interface RoundLayouts {
  /** Throws ParticipantProblem for an update that does not have the layout of the round's base. */
  require(found: Layout): void;
  /** Notes an update that was recorded as accepted. */
  add(update: RoundParticipant, layout: Layout): void;
  /** How many of the accepted updates fit together. */
  count(): number;
  /** Takes the updates that do not fit back, so that they failed. Returns the round after it; undefined if all fit. */
  takeBackMisfits(): Promise<Round | undefined>;
}

type FittingRun = Pick<FederationRun, "deps" | "control" | "federation">;

/** Opens the layouts of a round, of which another coordinator may have accepted updates. */
export async function openRoundLayouts(run: FittingRun, round: number, accepted: readonly RoundParticipant[]): Promise<RoundLayouts> {
  const { blobs } = run.deps;
  const { headBlob } = run.federation;
  if (headBlob !== "") return layoutsOfBase(await layoutOfBlob(blobs, headBlob), accepted.length);
  const layouts = layoutsByVote(run, round);
  for (const update of accepted) layouts.add(update, await layoutOfBlob(blobs, update.updateBlob));
  return layouts;
}

function layoutsOfBase(base: Layout, accepted: number): RoundLayouts {
  let count = accepted;
  return {
    require: (found) => requireLayout(found, base),
    add: () => void count++,
    count: () => count,
    takeBackMisfits: async () => undefined,
  };
}

/** Accepted updates of one layout. */
interface Group {
  readonly layout: Layout;
  readonly updates: RoundParticipant[];
}

function layoutsByVote({ control }: FittingRun, round: number): RoundLayouts {
  const groups = new Map<Layout, Group>();
  let largest = 0;
  return {
    require: () => {},
    add: (update, layout) => {
      const group = groups.get(layout) ?? { layout, updates: [] };
      groups.set(layout, group);
      group.updates.push(update);
      largest = Math.max(largest, group.updates.length);
    },
    count: () => largest,
    takeBackMisfits: async () => {
      const [chosen, ...others] = [...groups.values()].sort(byWeight);
      let latest: Round | undefined;
      for (const { layout, updates } of others) {
        const reason = misfitReason(layout, chosen?.layout);
        for (const update of updates) latest = await control.recordResult(round, { ...update, state: "failed", reason });
        groups.delete(layout);
      }
      largest = chosen?.updates.length ?? 0;
      return latest;
    },
  };
}

/** Orders by the number of updates, then by their samples, then by the least hash: the order of arrival decides nothing. */
function byWeight(one: Group, other: Group): number {
  const more = other.updates.length - one.updates.length || Number(samplesOf(other) - samplesOf(one));
  return more || (leastHash(one) < leastHash(other) ? -1 : 1);
}

const samplesOf = ({ updates }: Group): bigint => updates.reduce((sum, { samples = 0n }) => sum + samples, 0n);

const leastHash = ({ updates }: Group): string => updates.map(({ updateBlob }) => updateBlob).sort()[0] ?? "";

function misfitReason(found: Layout, expected: Layout | undefined): string {
  try {
    requireLayout(found, expected);
  } catch (thrown) {
    if (thrown instanceof ParticipantProblem) return thrown.message;
    throw thrown;
  }
  throw new Error("updates of one layout are in one group");
}
