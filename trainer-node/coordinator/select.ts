import { hash } from "node:crypto";
import { type Random, randomFraction } from "../../common/random.ts";
import { wholeUp } from "../../common/strategies/shared/whole.ts";
import { samplingOf as federationSampling } from "../../common/training/federation-sampling.ts";
import type { FederationSettings } from "../../common/training/federation-settings.ts";
import { rootOf } from "../../common/training/root-settings.ts";
import type { ClientSampling } from "../../common/training/sampled-gaussian.ts";
import { wantedOf } from "../../common/training/selection-settings.ts";
import type { Participant } from "../../proto/gen/tributary/training/v1/training.ts";
import type { FederationRun } from "./deps.ts";

/** How many results a round waits for, and how many participants it asks to get them. */
export function roundSize(given: {
  participants: number;
  fraction: number;
  overSelect: number;
  selection?: FederationSettings["selection"];
}): { wanted: number; asked: number } {
  const { participants, overSelect } = given;
  const wanted = wantedOf(given);
  return { wanted, asked: Math.min(participants, wholeUp(wanted * (1 + overSelect))) };
}

/** Selects the participants of a round by the seed, so that a coordinator that resumes the round selects the same. */
export function selectParticipants<Participant extends { id: string }>(
  participants: readonly Participant[],
  { count, seed, round }: { count: number; seed: number; round: number },
): Participant[] {
  const ranked = participants.map((participant) => ({ participant, rank: hash("sha256", `${seed}/${round}/${participant.id}`, "hex") }));
  const chosen = new Set(
    ranked
      .sort((left, right) => (left.rank < right.rank ? -1 : 1))
      .slice(0, count)
      .map(({ participant }) => participant),
  );
  return participants.filter((participant) => chosen.has(participant));
}

/**
 * Samples each participant with the same probability, independently and in secret, as the account of the privacy assumes. An empty sample is
 * drawn again, which the account knows. A coordinator that resumes the round gets its stored participants.
 */
export function sampleParticipants<Participant>(participants: readonly Participant[], share: number, random: Random): Participant[] {
  for (;;) {
    const sampled = participants.filter(() => randomFraction(random) < share);
    if (sampled.length > 0 || participants.length === 0) return sampled;
  }
}

/** The sampling of a federation's participants that its epsilon counts on; undefined if there is none. */
export function samplingOf({ settings, federation }: Pick<FederationRun, "settings" | "federation">): ClientSampling | undefined {
  return federationSampling(settings, federation.participants.length);
}

/** The participant with the root data set, which every round needs, apart from those that rounds select from. */
export function apart({ settings, members }: Pick<FederationRun, "settings" | "members">): { roots: Participant[]; rest: Participant[] } {
  const root = rootOf(settings.strategy);
  const isRoot = ({ id }: Participant): boolean => id === root;
  return { roots: members.filter(isRoot), rest: members.filter((participant) => !isRoot(participant)) };
}

/** The fewest results of a round. */
export function quorum({ minResults, wanted }: { minResults: number | undefined; wanted: number }): number {
  return Math.min(wanted, minResults ?? Math.max(1, Math.ceil(wanted / 2)));
}

/** A participant's dataset: its own, or its partition of the task's dataset. */
export function datasetOf(
  participant: { dataset: string },
  { shared, index, of }: { shared: unknown; index: number; of: number },
): unknown {
  if (participant.dataset !== "") return JSON.parse(participant.dataset) as unknown;
  if (typeof shared !== "object" || shared === null) return shared;
  const { partition, synthetic } = shared as { partition?: unknown; synthetic?: unknown };
  // In a dataset with one device per participant, a participant's index is its device.
  if (typeof synthetic === "object" && synthetic !== null && !("device" in synthetic))
    return { ...shared, synthetic: { of, ...synthetic, device: index } };
  if (typeof partition !== "object" || partition === null || "index" in partition) return shared;
  return { ...shared, partition: { of, ...partition, index } };
}
