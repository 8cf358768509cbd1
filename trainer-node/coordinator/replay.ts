import { z } from "zod";
import { AppError } from "../../common/errors.ts";
import { ownOf } from "../../common/strategies/shared/own-strategy.ts";
import { strategyNamed } from "../../common/strategies/shared/registry.ts";
import { federationSettings, federationSettingsFields } from "../../common/training/federation-settings.ts";
import { type RoundRecord, sortedUpdates } from "../../common/training/round-record.ts";
import type { Federation, Round } from "../../proto/gen/tributary/training/v1/training.ts";
import { TrainerError } from "../errors.ts";
import type { TrainingClient } from "./control.ts";
import type { CoordinatorDeps } from "./deps.ts";
import { evaluateModel } from "./evaluate-model.ts";
import { membersOf } from "./participants/joined-work.ts";
import { appliedStrategy, weightUpdates } from "./round-strategy.ts";
import { allRounds } from "./verify.ts";

/** The body of a replay. */
export const replayRequest = z.object({
  strategy: federationSettingsFields.strategy,
  /** Number of rounds from the first; all committed rounds if absent. */
  rounds: z.int().min(1).optional(),
});
/** A checked replay request. */
export type ReplayRequest = z.infer<typeof replayRequest>;

interface Score {
  readonly accuracy: number | null;
  readonly loss: number | null;
}

/** Two curves over the same updates: the recorded rounds, and the scores of another strategy's models. */
export interface Replay {
  readonly strategy: Readonly<Record<string, unknown>>;
  readonly rounds: readonly {
    readonly round: number;
    /** SHA-256 of the other strategy's result. */
    readonly parameters: string;
    readonly original: Score;
    readonly replayed: Score;
  }[];
}

const CALL_MS = 5000;
const EVALUATE_MS = 15_000;

/**
 * Recomputes every round from its stored updates with another strategy. Each round starts from the recorded parameters that its updates
 * were trained from, because an update is not meaningful for other parameters. The strategy's state carries over from replayed round to
 * replayed round. The federation is not changed.
 */
export async function replayFederation(
  deps: CoordinatorDeps,
  { client, federationId, request, signal }: { client: TrainingClient; federationId: string; request: ReplayRequest; signal: AbortSignal },
): Promise<Replay> {
  const federation = await workOf(client, federationId, signal);
  const stored = federationSettings.parse(JSON.parse(federation.settings));
  // A caller waits for the answer, and participants of a finished federation may be gone, so evaluations have a shorter deadline.
  const settings = { ...stored, strategy: request.strategy, deadlineMs: Math.min(stored.deadlineMs, EVALUATE_MS) };
  const { name, aggregatedBy } = strategyNamed(settings.strategy.name);
  if (aggregatedBy !== undefined)
    throw refusal(
      `${name} decides which updates a round waits for; over stored updates it is ${aggregatedBy}. Replay with ${aggregatedBy}.`,
    );
  const rounds = (await allRounds(client, federationId, signal)).slice(0, request.rounds);
  const members = membersOf(federation);
  const replayed: Replay["rounds"][number][] = [];
  let state = "";
  for (const round of rounds) {
    signal.throwIfAborted();
    const record = JSON.parse(round.record) as RoundRecord;
    refuseUnreadable(record);
    const then = { ...federation, headBlob: record.base ?? "", headStateBlob: state, headRound: round.round - 1 };
    const updates = sortedUpdates(weightUpdates(round.participants.filter(isAccepted), "samples"));
    const strategy = appliedStrategy({ settings, federation: then }, updates, round.round);
    const made = await deps.aggregation.store({ updates, strategy, base: then.headBlob, state, own: ownOf(settings.strategy) }, signal);
    state = made.state ?? "";
    const run = { deps, settings, members, federation: then, signal };
    const score = await evaluateModel(run, made.parameters, `${federationId}/${round.round}/replay`);
    replayed.push({
      round: round.round,
      parameters: made.parameters,
      original: scoreOf(round),
      replayed: scoreOf(score),
    });
  }
  return { strategy: request.strategy, rounds: replayed };
}

async function workOf(client: TrainingClient, federationId: string, signal: AbortSignal): Promise<Federation> {
  const { federation } = await client.getWork({ federationId }, { deadlineMs: CALL_MS, signal });
  if (!federation) throw new AppError("NOT_FOUND", "There is no such federation.");
  return federation;
}

/** Replaying a round without its noise would remove the noise, so such rounds are refused. */
function refuseUnreadable({ round, made }: RoundRecord): void {
  if (made === "aggregated") return;
  const why =
    made === "delegated"
      ? "only its participants can read its updates"
      : "its noise or masks must not be removed from the published result";
  throw refusal(`Round ${round} cannot be replayed with another strategy: ${why}.`);
}

const refusal = (message: string) => new TrainerError("VALIDATION_ERROR", message);

const isAccepted = ({ state }: Round["participants"][number]): boolean => state === "accepted";

function scoreOf({ accuracy, loss }: { accuracy?: number | undefined; loss?: number | undefined }): Score {
  return { accuracy: accuracy ?? null, loss: loss ?? null };
}
