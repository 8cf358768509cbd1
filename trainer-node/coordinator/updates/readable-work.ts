import type { Clock } from "../../../common/clock.ts";
import type { Federation, FederationWork } from "../../../proto/gen/tributary/training/v1/training.ts";
import type { BlobFolder } from "../blobs/blob-folder.ts";

/**
 * What a federation waits for because this coordinator's folder lacks it; undefined if everything is here. Coordinators that lack the same
 * blobs give the same text, so that the federation's status does not change with each of them.
 */
export async function missingHere({ federation, round }: FederationWork, blobs: Pick<BlobFolder, "find">): Promise<string | undefined> {
  // A federation with all rounds only has to be ended, which needs no parameters.
  if (!federation || federation.headRound >= roundsOf(federation)) return undefined;
  const head = [federation.headBlob, federation.headStateBlob];
  const what = federation.headRound === 0 ? "the initial parameters" : `the parameters of round ${federation.headRound}`;
  if (await isAnyMissing(head, blobs)) return `a coordinator that has ${what}`;
  const updates = (round?.participants ?? []).filter(({ state }) => state === "accepted").map(({ updateBlob }) => updateBlob);
  if (await isAnyMissing(updates, blobs)) return `a coordinator that has the updates of round ${round?.round}`;
  return undefined;
}

/** How many rounds the federation is to have, by its newest known state. */
export function roundsOf({ settings }: Federation): number {
  return (JSON.parse(settings) as { rounds: number }).rounds;
}

async function isAnyMissing(hashes: readonly string[], blobs: Pick<BlobFolder, "find">): Promise<boolean> {
  for (const hash of hashes) if (hash !== "" && !(await blobs.find(hash))) return true;
  return false;
}

/** Federations whose claim this coordinator released, for as long as it leaves them to others. */
export interface ReleasedClaims {
  add(federationId: string): { isFirst: boolean };
  /** Federations that this coordinator does not claim now. */
  ids(): string[];
}

/** Long enough for a coordinator with the blobs to claim first, short enough to find blobs that are copied here soon. */
const BACK_OFF_MS = 5_000;
const KNOWN_MAX = 1_000;

/** Creates the list of released claims, in memory. */
export function createReleasedClaims({ clock }: { clock: Clock }): ReleasedClaims {
  const untilMs = new Map<string, number>();
  return {
    add: (federationId) => {
      const isFirst = !untilMs.delete(federationId);
      untilMs.set(federationId, clock.monotonicMs() + BACK_OFF_MS);
      const [oldest] = untilMs.keys();
      if (untilMs.size > KNOWN_MAX && oldest !== undefined) untilMs.delete(oldest);
      return { isFirst };
    },
    ids: () => [...untilMs].filter(([, until]) => until > clock.monotonicMs()).map(([id]) => id),
  };
}
