import { canonicalJson } from "../json.ts";
import { placeOf } from "./dataset-place.ts";
import { isOpen, mostParticipants } from "./enrollment-settings.ts";
import type { FederationSettings } from "./federation-settings.ts";
import { labelKeyIn } from "./label-key.ts";
import { NODE_DATASETS } from "./node-datasets.ts";

// Accuracy and loss are exact. With `dp` or `secureAggregation` a model is measured only on rows outside the training data, or not at all.

type Evaluation = FederationSettings["eval"];

interface Asked extends Partial<Pick<FederationSettings, "dp" | "secureAggregation" | "enrollment" | "maxParticipants">> {
  readonly task: Pick<FederationSettings["task"], "dataset">;
  /** Absent if no evaluation was requested. */
  readonly eval?: Evaluation | undefined;
  readonly participants: readonly EvaluatedParticipant[];
}

interface EvaluatedParticipant {
  /** Its own; absent: the task's. */
  readonly dataset?: unknown;
  /** The id of the federation that is the participant, whose evaluation is that of its own settings. */
  readonly federation?: string | undefined;
}

interface Problem {
  readonly path: string[];
  readonly message: string;
}

const USUAL: Evaluation = { mode: "held_out" };
const INSTEAD = "set eval.dataset to rows outside the training data, or eval.mode to none";

/** The evaluation of a new federation: that which was asked for, or the usual one if privacy allows it. */
export const evaluationOf = (asked: Asked): Evaluation => asked.eval ?? (evaluationProblem(asked) ? { mode: "none" } : USUAL);

/** What is wrong with the evaluation that was asked for. */
export function evaluationProblems(asked: Asked): Problem[] {
  const problem = asked.eval && (absentProblem(asked) ?? evaluationProblem(asked));
  return problem ? [problem] : [];
}

function absentProblem(asked: Asked): Problem | undefined {
  const participant = asked.eval?.participant;
  const most = mostParticipants(asked);
  if (participant === undefined || participant < most) return undefined;
  return { path: ["eval", "participant"], message: `must be below ${most}, the number of participants` };
}

/** Why rounds have no evaluation although the request does not say so; undefined if they have one. */
export function evaluationWarning(asked: Asked): string | undefined {
  const problem = asked.eval ? undefined : evaluationProblem(asked);
  return problem && `Rounds are not evaluated, because the evaluation ${problem.message}.`;
}

/** Whether figures of rows may not come out of a federation, beside those of rows outside the training data. */
export const coversRows = ({ dp, secureAggregation }: Pick<Asked, "dp" | "secureAggregation">): boolean =>
  dp !== undefined || secureAggregation !== undefined;

/** Why the evaluation would show what `dp` or `secureAggregation` hides; undefined if it would not. */
export function evaluationProblem(asked: Asked): Problem | undefined {
  const { mode, dataset, participant } = asked.eval ?? USUAL;
  if (!coversRows(asked) || mode === "none") return undefined;
  const privacy = asked.dp ? "dp" : "secureAggregation";
  const problem = (path: string[], message: string): Problem => ({ path, message });
  if (mode === "sites") {
    const rows = `sites publishes exact figures of the participants' own rows, which ${privacy} does not cover`;
    return problem(["eval", "mode"], `${rows}; use held_out with eval.dataset, rows outside the training data, or none`);
  }
  const path = dataset === undefined ? ["eval"] : ["eval", "dataset"];
  const reason = ownRowsReason(asked, dataset === undefined ? asked.task.dataset : dataset);
  if (reason !== undefined) return problem(path, `${reason}, and ${privacy} does not cover its exact figures; ${INSTEAD}`);
  const { participants } = asked;
  const inner = `is by the settings of an inner federation, which ${privacy} of this one does not cover`;
  if (participant !== undefined && participants[participant]?.federation)
    return problem(["eval", "participant"], `${inner}; name a participant that is not one, or set eval.mode to none`);
  const isInnerOnly = !isOpen(asked) && participants.length > 0 && participants.every(({ federation }) => federation);
  return isInnerOnly ? problem(["eval"], `${inner}; set eval.mode to none`) : undefined;
}

/** Whether these are rows that nodes train on by default, or may be. */
export function isTrainingRows(dataset: unknown): boolean {
  const { split: _split, partition: _partition, ...rest } = isRecord(dataset) ? dataset : {};
  const task = { dataset: isRecord(dataset) ? rest : dataset } as Asked["task"];
  return ownRowsReason({ task, participants: [{}] }, dataset) !== undefined;
}

/** Why the evaluated rows are private; undefined if they are outside the training data. */
function ownRowsReason({ task, participants, ...more }: Asked, evaluated: unknown): string | undefined {
  if (!hasRows(evaluated)) return "would be on rows that a participant has of its own";
  const trained: { who: string; dataset: unknown }[] = participants.flatMap(({ dataset }, index) =>
    dataset === undefined ? [] : [{ who: `participants.${index} trains on`, dataset }],
  );
  const isShared = isOpen(more) || participants.some(({ dataset }) => dataset === undefined);
  if (isShared) trained.push({ who: "participants train on, those of task.dataset", dataset: task.dataset });
  if (isFile(evaluated) && trained.some(({ dataset }) => isOfNode(dataset)))
    return "would be on a file of a node, which may be what participants train on that have rows of their own";
  for (const { who, dataset } of trained) {
    if (isSameSource(evaluated, dataset)) return `would be on rows that ${who}`;
    const shared = sharedRow(evaluated, dataset);
    if (shared !== undefined) return `has row ${shared}, which ${who}`;
  }
  return undefined;
}

/** Whether a dataset says which rows it has. Without any, and with a partition alone, participants take their own. */
function hasRows(dataset: unknown): boolean {
  if (typeof dataset === "string") return dataset !== "";
  return isRecord(dataset) ? Object.keys(dataset).some((key) => key !== "partition") : Array.isArray(dataset);
}

/** Whether only the node knows which rows these are: its own, or those that it has under a name. */
function isOfNode(dataset: unknown): boolean {
  if (!hasRows(dataset)) return true;
  const name = typeof dataset === "string" ? dataset : isRecord(dataset) ? dataset["name"] : undefined;
  return name !== undefined && !NODE_DATASETS.some((known) => known === name);
}

const isFile = (dataset: unknown): boolean => isRecord(dataset) && typeof dataset["uri"] === "string" && /^file:/i.test(dataset["uri"]);

/** Whether the evaluation reads rows of the same place as the training. */
function isSameSource(evaluated: unknown, trained: unknown): boolean {
  const [one, other] = [sourceOf(evaluated), sourceOf(trained)];
  if (one.source !== other.source) return false;
  // Nodes train on one split and evaluate on another, unless the dataset names them.
  const [read, taught] = [one.split ?? "test", other.split ?? "train"];
  return !one.isSplit || read === taught || read === "all" || taught === "all";
}

interface Source {
  readonly source: string;
  readonly split?: unknown;
  /** Whether each node knows the same splits of it. */
  readonly isSplit: boolean;
}

function sourceOf(dataset: unknown): Source {
  if (typeof dataset === "string") return sourceOf({ name: dataset });
  if (!isRecord(dataset)) return { source: canonicalJson(dataset), isSplit: false };
  const { name, uri, synthetic, split, partition: _partition, ...rest } = dataset;
  if (name !== undefined) return { source: `name ${canonicalJson(name)}`, split, isSplit: NODE_DATASETS.some((known) => known === name) };
  if (uri !== undefined) return { source: `uri ${uriText(uri)}`, isSplit: false };
  return synthetic === undefined ? { source: canonicalJson(rest), isSplit: false } : { source: "synthetic", split, isSplit: true };
}

/** A URI as comparable text. */
function uriText(uri: unknown): string {
  const found = placeOf(String(uri));
  return found ? found.place + found.search : canonicalJson(uri);
}

/** The first row of the evaluation that is one of the training, too. */
function sharedRow(evaluated: unknown, trained: unknown): number | undefined {
  const rows = rowsIn(evaluated);
  if (rows.length === 0) return undefined;
  const known = new Set(rowsIn(trained).flat());
  const index = rows.findIndex((texts) => texts.some((text) => known.has(text)));
  return index < 0 ? undefined : index;
}

/**
 * Rows that a request has itself, each as comparable texts: by the names of its columns, which may come in any order, and by its values in the
 * order of row 0 with the label last, as a matrix has them.
 */
function rowsIn(dataset: unknown): string[][] {
  if (Array.isArray(dataset)) {
    const keys = isRecord(dataset[0]) ? Object.keys(dataset[0]) : [];
    const label = labelKeyIn(keys) ?? "";
    const columns = keys.filter((key) => key !== label);
    return dataset.map((row: unknown) => {
      if (!isRecord(row)) return [canonicalJson(row)];
      const { [label]: value, ...features } = row;
      return [canonicalJson([...columns.map((key) => features[key]), value]), canonicalJson({ features, value })];
    });
  }
  const { x, y } = Object(dataset) as { x?: unknown; y?: unknown };
  if (!Array.isArray(x)) return [];
  const labels: readonly unknown[] = Array.isArray(y) ? y : [];
  return x.map((row: unknown, index) => [canonicalJson([row, labels[index]].flat())]);
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
