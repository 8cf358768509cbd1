import { strategyNamed } from "../../common/strategies/shared/registry.ts";
import { samplingOf } from "../../common/training/federation-sampling.ts";
import type { FederationSettings } from "../../common/training/federation-settings.ts";
import { epsilonAfter, epsilonOfRho, rhoOfRound } from "../../common/training/privacy-account.ts";
import { privacyRules } from "../../common/training/privacy-rules.ts";
import { type DataSet, dataSetId, dataSetUses } from "../domain/data-sets.ts";
import type { Federation, TrainingRound } from "../domain/training-records.ts";
import type { Transaction } from "../stores/store.ts";
import { findDataSet } from "./find-data-set.ts";
import { refused, requireBudgets } from "./require-budgets.ts";

/** The part of a federation's settings that is read here; settings are validated when the federation is created. */
type PrivacySettings = Pick<FederationSettings, "dp" | "secureAggregation" | "task"> &
  Partial<Pick<FederationSettings, "eval" | "strategy">>;

/**
 * Charges a round to the privacy accounts of its data sets before participants are called: received updates count as disclosed, whatever
 * becomes of the round. Throws QUOTA_EXCEEDED if the round would exceed a data set's budget, or show exact figures of one with a budget.
 */
export async function spendPrivacy(
  tx: Transaction,
  { federation, participantIds }: { federation: Federation; participantIds: readonly string[] },
  now: number,
): Promise<void> {
  const settings = JSON.parse(federation.settings) as PrivacySettings;
  const { task, dp } = settings;
  const { organizationId } = federation;
  // A budget may have been set since the federation was claimed.
  await requireBudgets(tx, federation);
  if (!dp) return;
  const uses = dataSetUses(federation.participants, { shared: task.dataset, chosen: new Set(participantIds) });
  for (const [name, times] of uses) {
    const known = await findDataSet(tx, { organizationId, name });
    const next = spent(known ?? emptyDataSet({ organizationId, name, delta: dp.delta }, now), costOf({ ...settings, dp }, times), now);
    await tx.put("dataSets", next);
  }
}

/**
 * Refunds a round whose privacy could not be enforced, because nothing of it was published. It stays charged if noised updates, or its
 * result, were seen.
 */
export async function returnPrivacy(
  tx: Transaction,
  { federation, round }: { federation: Federation; round: TrainingRound },
  now: number,
): Promise<void> {
  const settings = JSON.parse(federation.settings) as PrivacySettings;
  const { task, dp } = settings;
  if (!dp || isSpent(settings, round)) return;
  const chosen = new Set(round.participants.map(({ participantId }) => participantId));
  for (const [name, times] of dataSetUses(federation.participants, { shared: task.dataset, chosen })) {
    const known = await tx.get("dataSets", dataSetId(federation.organizationId, name));
    if (!known) continue;
    const refund = costOf({ ...settings, dp }, times);
    const rho = refund > REFUND_RHO_MAX ? known.rho : Math.max(0, known.rho - refund);
    await tx.put("dataSets", { ...known, rho, rounds: Math.max(0, known.rounds - 1), updatedAt: now });
  }
}

/**
 * What a federation has spent when a round is abandoned, if its noised updates had arrived, or participants had its result to evaluate.
 */
export function abandonedPrivacy(federation: Federation, round: TrainingRound): Pick<Federation, "epsilon" | "spentRounds"> {
  const settings = JSON.parse(federation.settings) as PrivacySettings;
  if (!settings.dp || !isSpent(settings, round)) return {};
  const spentRounds = (federation.spentRounds ?? 0) + 1;
  const sampling = samplingOf(settings, federation.participants.length);
  return { spentRounds, epsilon: epsilonAfter(settings.dp, federation.head.round + spentRounds, sampling) };
}

function isSpent(settings: PrivacySettings, { state: phase, participants }: TrainingRound): boolean {
  const { spentBy } = privacyRules(settings);
  if (spentBy === "updates") return participants.some(({ state, bytes }) => state === "accepted" || bytes > 0);
  return spentBy === "result" && phase === "evaluating" && settings.eval?.mode !== "none";
}

/**
 * Epsilon is in the millions above it. Such a round stays charged: beside a sum like that the small parts of an account are rounded away, and
 * subtracting it would leave less than was spent.
 */
const REFUND_RHO_MAX = 1e6;

/**
 * What a round costs that uses the same rows so many times. In one sum their clipped updates add up, so they move it as many times the clip
 * norm, which costs the square. Local noise hides each of them by itself. What a strategy makes of single updates is clipped as a whole.
 */
function costOf({ dp, ...settings }: PrivacySettings & { dp: NonNullable<PrivacySettings["dp"]> }, times: number): number {
  const factor = dp.mode === "local" ? times : isOfSum(settings) ? times ** 2 : 1;
  return factor * rhoOfRound(dp);
}

function isOfSum({ secureAggregation, strategy }: Omit<PrivacySettings, "dp">): boolean {
  const given = strategyNamed(strategy?.name ?? "fedavg");
  return secureAggregation !== undefined || (given.aggregatedBy ? strategyNamed(given.aggregatedBy) : given).sees === "sum";
}

function spent(dataSet: DataSet, cost: number, now: number): DataSet {
  const rho = dataSet.rho + cost;
  const { name, epsilonBudget, delta } = dataSet;
  const epsilon = epsilonOfRho(rho, delta);
  // What is not a number does not fit either.
  if (epsilonBudget !== undefined && !(epsilon <= epsilonBudget)) {
    throw refused(
      `The privacy budget of the data set "${name}" is used up: another round would make its epsilon ${epsilon.toFixed(3)}, the budget is ${epsilonBudget}.`,
    );
  }
  return { ...dataSet, rho, rounds: dataSet.rounds + 1, updatedAt: now };
}

export function emptyDataSet(
  { organizationId, name, delta }: { organizationId: string; name: string; delta: number },
  now: number,
): DataSet {
  return { id: dataSetId(organizationId, name), organizationId, name, rho: 0, rounds: 0, delta, createdAt: now, updatedAt: now };
}
