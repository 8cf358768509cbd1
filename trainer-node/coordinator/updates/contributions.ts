import { ownOf } from "../../../common/strategies/shared/own-strategy.ts";
import { findStrategy } from "../../../common/strategies/shared/registry.ts";
import { fallbackMeasure, hiddenBy, rewardMeasure } from "../../../common/training/reward-settings.ts";
import { rootOf } from "../../../common/training/root-settings.ts";
import { sortedUpdates } from "../../../common/training/round-record.ts";
import type { RoundParticipant } from "../../../proto/gen/tributary/training/v1/training.ts";
import { TrainerError } from "../../errors.ts";
import type { FederationRun } from "../deps.ts";
import { evaluateModel, type ModelEvaluation } from "../evaluate-model.ts";
import type { CombinedRound } from "../privacy/privacy-mode.ts";

/**
 * The contribution of each accepted update, by the federation's measure. An update that the strategy excluded contributes nothing, unless
 * figures of single updates are hidden: the strategy's verdict is one of them, and a reward by it would show it.
 */
export async function contributionsOf(
  run: FederationRun,
  accepted: readonly RoundParticipant[],
  { combined, evaluation }: { combined: CombinedRound; evaluation: ModelEvaluation },
): Promise<RoundParticipant[]> {
  const measure = await measureOf(run, accepted, { combined, evaluation });
  const isHidden = hiddenBy(run.settings) !== undefined;
  return accepted.map((participant) => {
    const figures = isHidden ? undefined : combined.figures.get(participant.participantId);
    const worth = figures?.kept === false ? 0 : measure(participant);
    return {
      ...participant,
      norm: figures?.norm,
      cosine: figures?.cosine,
      kept: figures?.kept,
      contribution: Number.isFinite(worth) && worth > 0 ? worth : 0,
    };
  });
}

type Measure = (participant: RoundParticipant) => number;

/** Measures that need nothing of the updates. */
const PLAIN: Readonly<Record<"samples" | "equal", Measure>> = { samples: ({ samples }) => Number(samples ?? 0n), equal: () => 1 };

async function measureOf(
  run: FederationRun,
  accepted: readonly RoundParticipant[],
  { combined, evaluation }: { combined: CombinedRound; evaluation: ModelEvaluation },
): Promise<Measure> {
  const by = rewardMeasure(run.settings);
  if (by === "samples" || by === "equal") return PLAIN[by];
  const fallback = PLAIN[fallbackMeasure(run.settings)];
  // Federations that an earlier version stored may ask for the other measures all the same.
  if (hiddenBy(run.settings) !== undefined) return fallback;
  if (by === "cosine" && combined.figures.size > 0) return ({ participantId }) => combined.figures.get(participantId)?.cosine ?? 0;
  if (by === "cosine" || evaluation.accuracy === undefined || combined.record.made !== "aggregated" || accepted.length < 2) return fallback;
  const worths = await worthsOf(run, accepted, { combined, accuracy: evaluation.accuracy, judges: judgesOf(evaluation) });
  return worths ? ({ participantId }) => worths.get(participantId) ?? 0 : fallback;
}

/**
 * The accuracy that the round's model loses without each update; undefined if one of these models cannot be made, or was not evaluated by the
 * participants that evaluated the round's: the difference would show who was away and not what the update is worth.
 */
async function worthsOf(
  run: FederationRun,
  accepted: readonly RoundParticipant[],
  { combined, accuracy, judges }: { combined: CombinedRound; accuracy: number; judges: string },
): Promise<Map<string, number> | undefined> {
  const worths = new Map<string, number>();
  const root = rootOf(run.settings.strategy);
  // There is no round without the root, which is not part of the result either.
  const others = accepted.filter(({ participantId: id }) => id !== root);
  try {
    for (const { participantId } of others) {
      const without = await evaluateWithout(run, accepted, { combined, participantId });
      if (without?.accuracy === undefined || judgesOf(without) !== judges) return undefined;
      worths.set(participantId, accuracy - without.accuracy);
    }
  } catch (thrown) {
    // The strategy refuses to make a model of the others: they are too few, or their losses are all 0.
    if (thrown instanceof TrainerError && thrown.status >= 400 && thrown.status < 500) return undefined;
    throw thrown;
  }
  return worths;
}

/** The participants whose accuracy is part of an evaluation. */
function judgesOf({ evaluations }: ModelEvaluation): string {
  const done = evaluations.filter(({ state, metrics }) => state === "done" && metrics["accuracy"] !== undefined);
  return done
    .map(({ participantId }) => participantId)
    .toSorted()
    .join(" ");
}

/** Evaluates the round's model without one of its updates; undefined if the other updates weigh nothing. */
async function evaluateWithout(
  run: FederationRun,
  accepted: readonly RoundParticipant[],
  { combined, participantId }: { combined: CombinedRound; participantId: string },
): Promise<ModelEvaluation | undefined> {
  const { deps, federation } = run;
  const weightOf = weightsOf(combined.record, accepted);
  const others = accepted.filter((participant) => participant.participantId !== participantId);
  const weighted = (list: readonly RoundParticipant[]) =>
    list.map(({ updateBlob: hash, participantId: id }) => ({ hash, id, weight: weightOf.get(id) ?? 1 }));
  const updates = sortedUpdates(weighted(others));
  if (updates.every(({ weight }) => weight === 0)) return undefined;
  const left = sortedUpdates(weighted(accepted)).findIndex(({ id }) => id === participantId);
  const strategy = withoutClient(combined.record.strategy, left);
  const { parameters } = await deps.aggregation.store(
    { updates, strategy, base: federation.headBlob, state: federation.headStateBlob, own: ownOf(run.settings.strategy) },
    run.signal,
  );
  return evaluateModel(run, parameters, `${federation.id}/${combined.record.round}/without-${participantId}`, others.length);
}

/**
 * The settings without the values of one client. Settings that a built-in strategy declares as lists have one per client of the whole round, in
 * the order of the record; a list of an own strategy is its author's.
 */
function withoutClient(strategy: Readonly<Record<string, unknown>>, client: number): Record<string, unknown> {
  const table = findStrategy(String(strategy["name"]))?.settings ?? {};
  const isPerClient = (name: string): boolean => Object.hasOwn(table, name) && table[name]?.type === "list";
  return Object.fromEntries(
    Object.entries(strategy).map(([name, value]) => [name, Array.isArray(value) && isPerClient(name) ? value.toSpliced(client, 1) : value]),
  );
}

/** The weights in the record by participant. Equal updates are in the order of their weights there, which is that of their samples. */
function weightsOf({ updates }: CombinedRound["record"], accepted: readonly RoundParticipant[]): ReadonlyMap<string, number> {
  const sorted = sortedUpdates(
    accepted.map(({ updateBlob: hash, participantId, samples = 0n }) => ({ hash, participantId, weight: Number(samples) })),
  );
  return new Map(sorted.map(({ participantId }, index) => [participantId, updates[index]?.weight ?? 1]));
}
