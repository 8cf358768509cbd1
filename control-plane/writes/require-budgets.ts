import { AppError } from "../../common/errors.ts";
import { isOpen } from "../../common/training/enrollment-settings.ts";
import { evaluationProblem, isTrainingRows } from "../../common/training/evaluation-rules.ts";
import type { FederationSettings } from "../../common/training/federation-settings.ts";
import { dataSetUses } from "../domain/data-sets.ts";
import type { Federation } from "../domain/training-records.ts";
import type { Reader } from "../stores/store.ts";
import { limitedDataSets } from "./find-data-set.ts";

/** Federations within federations that are looked at. */
const DEPTH_MAX = 32;

/** What is read here of a federation's settings, as they are stored. */
type Settings = Partial<Pick<FederationSettings, "dp" | "secureAggregation" | "enrollment" | "eval" | "task">>;

/**
 * Throws QUOTA_EXCEEDED if a federation would show exact figures of a data set with a budget: its models without noise (initial parameters are
 * such), or an evaluation of its training rows. It comes before any participant is called. Inner federations train and evaluate by their own
 * settings, and are evaluated without a round of theirs.
 */
export async function requireBudgets(reader: Reader, federation: Federation, depth = 0): Promise<void> {
  const settings = JSON.parse(federation.settings) as Settings;
  const limited = await limitedDataSets(reader, federation.organizationId);
  const firstLimited = (names: Iterable<string>): string | undefined => [...names].find((name) => limited.has(name));
  const trained = settings.dp ? undefined : firstLimited(namesOf(federation, settings.task?.dataset));
  if (trained !== undefined)
    throw refused(`The data set "${trained}" has a privacy budget, and this federation adds no noise. Set dp in its settings.`);
  refuseEvaluation(firstLimited(evaluatedNames(federation, settings)));
  if (depth < DEPTH_MAX) for (const inner of await innerOf(reader, federation)) await requireBudgets(reader, inner, depth + 1);
}

/**
 * Throws QUOTA_EXCEEDED if evaluations of a federation's models would show exact figures of a data set with a budget. A replay trains nothing,
 * but evaluates models that no round has evaluated.
 */
export async function requireEvaluationBudgets(reader: Reader, federation: Federation, depth = 0): Promise<void> {
  const limited = await limitedDataSets(reader, federation.organizationId);
  const names = evaluatedNames(federation, JSON.parse(federation.settings) as Settings);
  refuseEvaluation([...names].find((name) => limited.has(name)));
  if (depth < DEPTH_MAX) for (const inner of await innerOf(reader, federation)) await requireEvaluationBudgets(reader, inner, depth + 1);
}

function refuseEvaluation(dataset: string | undefined): void {
  if (dataset === undefined) return;
  throw refused(
    `The data set "${dataset}" has a privacy budget, and the evaluation would show exact figures of its rows. Set eval.dataset to rows outside it, or eval.mode to none.`,
  );
}

async function innerOf(reader: Reader, { participants }: Federation): Promise<Federation[]> {
  const found: Federation[] = [];
  for (const { inner } of participants) {
    const federation = inner && (await reader.get("federations", inner.federationId));
    if (federation) found.push(federation);
  }
  return found;
}

/** The data sets whose training rows are evaluated. */
function evaluatedNames(federation: Federation, settings: Settings): Iterable<string> {
  const { mode, dataset, participant } = settings.eval ?? { mode: "held_out" };
  const shared = settings.task?.dataset;
  const { participants } = federation;
  const asked = participants.map((one) => ({ dataset: readDataset(one), federation: one.inner?.federationId }));
  // Coordinators evaluate nothing then.
  if (mode === "none" || evaluationProblem({ ...settings, task: { dataset: shared }, participants: asked })) return [];
  if (mode === "sites") return namesOf(federation, shared);
  const rows = dataset === undefined ? shared : dataset;
  if (!isTrainingRows(rows)) return [];
  const named = participant === undefined || isOpen(settings) ? undefined : participants[participant];
  const evaluators = named ? [named] : participants;
  return namesOf({ participants: evaluators.map((one) => ({ ...one, dataset: "" })) }, rows);
}

function namesOf({ participants }: Pick<Federation, "participants">, shared: unknown): Iterable<string> {
  return dataSetUses(participants, { shared, chosen: new Set(participants.map(({ id }) => id)) }).keys();
}

const readDataset = ({ dataset }: { dataset: string }): unknown => (dataset === "" ? undefined : JSON.parse(dataset));

/** The path `dp` lets the coordinator distinguish this from missing credits. */
export function refused(message: string): AppError {
  return new AppError("QUOTA_EXCEEDED", message, { details: [{ path: "dp", message: "the privacy budget is used up" }] });
}
