import { randomFraction } from "../../../common/random.ts";
import type { Participant, RoundParticipant } from "../../../proto/gen/tributary/training/v1/training.ts";
import { FederationFailed, type FederationRun } from "../deps.ts";
import type { WeightedUpdate } from "../round-strategy.ts";

/** Votes that a result needs: with one, a single participant would decide the model. */
const VOTES_MIN = 2;

/** The aggregate of opaque parameters, and the participants that made it. */
export interface DelegatedResult {
  readonly result: string;
  readonly voters: readonly string[];
}

/**
 * Lets participants aggregate opaque parameters. A result counts if at least two of them, at different addresses, made the same bytes, and
 * more than half of those that answered. They are asked in random order, so that no participant can place itself first.
 */
export async function delegate(
  run: FederationRun,
  accepted: readonly RoundParticipant[],
  updates: readonly WeightedUpdate[],
): Promise<DelegatedResult> {
  const { deps, signal } = run;
  const problems: string[] = [];
  const votes = new Map<string, string[]>();
  const hashes = updates.map(({ hash }) => hash);
  const inTime = AbortSignal.any([signal, AbortSignal.timeout(run.settings.deadlineMs)]);
  for (const participant of votersOf(run, accepted)) {
    try {
      const result = await deps.participants.aggregate(participant, hashes, inTime);
      votes.set(result, [...(votes.get(result) ?? []), participant.id]);
    } catch (thrown) {
      signal.throwIfAborted();
      problems.push(`${participant.id}: ${thrown instanceof Error ? thrown.message : String(thrown)}`);
    }
    const decided = decidedBy(votes);
    if (decided) return decided;
  }
  throw new FederationFailed("AGGREGATION_FAILED", disagreement(votes, problems));
}

/** The accepted participants in random order, one for each address: a program that is listed twice has one vote. */
function votersOf({ deps, members }: FederationRun, accepted: readonly RoundParticipant[]): Participant[] {
  const ids = new Set(accepted.map(({ participantId }) => participantId));
  const byAddress = new Map(members.filter(({ id }) => ids.has(id)).map((participant) => [participant.url, participant]));
  return [...byAddress.values()]
    .map((participant) => ({ participant, rank: randomFraction(deps.random) }))
    .sort((left, right) => left.rank - right.rank)
    .map(({ participant }) => participant);
}

function decidedBy(votes: ReadonlyMap<string, readonly string[]>): DelegatedResult | undefined {
  const cast = [...votes.values()].reduce((sum, { length }) => sum + length, 0);
  for (const [result, voters] of votes) {
    if (voters.length >= VOTES_MIN && voters.length * 2 > cast) return { result, voters: voters.toSorted() };
  }
  return undefined;
}

function disagreement(votes: ReadonlyMap<string, readonly string[]>, problems: readonly string[]): string {
  const results = [...votes].map(([result, voters]) => `${voters.join(" and ")} made ${result.slice(0, 12)}`);
  const what = "Opaque parameters are aggregated by the participants, and at least two of them must make the same bytes";
  return `${what}: ${[...results, ...problems].join("; ").slice(0, 700)}. Send safetensors, npz or npy, which the coordinator aggregates itself.`;
}
