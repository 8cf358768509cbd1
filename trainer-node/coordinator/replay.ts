import { z } from "zod";
import { AppError } from "../../common/errors.ts";
import { federationSettings, federationSettingsFields } from "../../common/federation-settings.ts";
import { type RoundRecord, sortedUpdates } from "../../common/round-record.ts";
import { strategyNamed } from "../../common/strategies/shared/registry.ts";
import type { Federation, Round } from "../../proto/gen/tributary/training/v1/training.ts";
import { TrainerError } from "../errors.ts";
import type { TrainingClient } from "./control.ts";
import type { CoordinatorDeps } from "./deps.ts";
import { evaluateModel } from "./evaluate-model.ts";
import { membersOf } from "./participants/joined-work.ts";
import { appliedStrategy, weigh } from "./round-strategy.ts";
import { allRounds } from "./verify.ts";

export const replayRequest = z.object({
  strategy: federationSettingsFields.strategy,
  /** The first so many; all that are committed where absent. */
  rounds: z.int().min(1).optional(),
});
export type ReplayRequest = z.infer<typeof replayRequest>;

interface Score {
  readonly accuracy: number | null;
  readonly loss: number | null;
}

/** Two curves over the same updates: how the rounds went, and how good another strategy's model of each would have been. */
export interface Replay {
  readonly strategy: Readonly<Record<string, unknown>>;
  readonly rounds: readonly {
    readonly round: number;
    /** SHA-256 of what the other strategy made. */
    readonly parameters: string;
    readonly original: Score;
    readonly replayed: Score;
  }[];
}

const CALL_MS = 5000;
const EVALUATE_MS = 15_000;

/**
 * Makes every round again from its stored updates with another strategy. Each begins with the parameters its updates were trained from,
 * which are those of the record: an update says nothing about a model that nobody trained. What a strategy carries over it carries
 * from replayed round to replayed round. Nothing of the federation is changed.
 */
export async function replayFederation(
  deps: CoordinatorDeps,
  { client, federationId, request, signal }: { client: TrainingClient; federationId: string; request: ReplayRequest; signal: AbortSignal },
): Promise<Replay> {
  const federation = await workOf(client, federationId, signal);
  const stored = federationSettings.parse(JSON.parse(federation.settings));
  // Somebody waits for the answer, and participants of a federation that is over may be gone.
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
    const updates = sortedUpdates(weigh(round.participants.filter(isAccepted), "samples"));
    const strategy = appliedStrategy({ settings, federation: then }, updates, round.round);
    const made = await deps.aggregation.store({ updates, strategy, base: then.headBlob, state }, signal);
    state = made.state ?? "";
    const run = { deps, settings, members, federation: then, signal };
    const score = await evaluateModel(run, made.parameters, `${federationId}/${round.round}/replay`);
    replayed.push({
      round: round.round,
      parameters: made.parameters,
      original: scoreOf(round),
      replayed: scoreOf(score ?? {}),
    });
  }
  return { strategy: request.strategy, rounds: replayed };
}

async function workOf(client: TrainingClient, federationId: string, signal: AbortSignal): Promise<Federation> {
  const { federation } = await client.getWork({ federationId }, { deadlineMs: CALL_MS, signal });
  if (!federation) throw new AppError("NOT_FOUND", "There is no such federation.");
  return federation;
}

/** Noise that was added on purpose is not to be taken away again by making the round without it. */
function refuseUnreadable({ round, made }: RoundRecord): void {
  if (made === "aggregated") return;
  const why =
    made === "delegated" ? "its updates can be read by its participants only" : "its updates are to stay hidden in what was published";
  throw refusal(`Round ${round} cannot be made again with another strategy: ${why}.`);
}

const refusal = (message: string) => new TrainerError("VALIDATION_ERROR", message);

const isAccepted = ({ state }: Round["participants"][number]): boolean => state === "accepted";

function scoreOf({ accuracy, loss }: { accuracy?: number | undefined; loss?: number | undefined }): Score {
  return { accuracy: accuracy ?? null, loss: loss ?? null };
}
