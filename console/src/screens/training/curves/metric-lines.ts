import type { FederationRound } from "../../../api/types.ts";

/** What the curves need of a round; both the list of rounds and the export of metrics have it. */
export type MeasuredRound = Pick<FederationRound, "round" | "accuracy" | "loss" | "metrics"> & {
  readonly participants: readonly Pick<FederationRound["participants"][number], "participantId" | "metrics" | "evaluation">[];
};

export interface Point {
  readonly round: number;
  readonly value: number;
}

type Metrics = MeasuredRound["metrics"];

/** Every number of the rounds by name: `accuracy` and `loss` of the result first, then what evaluate and train returned. */
export function metricNames(rounds: readonly MeasuredRound[]): string[] {
  const names = new Set<string>();
  for (const { metrics, participants } of rounds) {
    for (const one of [metrics, ...participants.map((participant) => participant.metrics)]) {
      for (const kind of ["evaluate", "train"] as const) for (const name of Object.keys(one[kind])) names.add(`${kind}.${name}`);
    }
  }
  const results = (["accuracy", "loss"] as const).filter((name) => rounds.some((round) => round[name] !== null));
  return [...results, ...[...names].sort()];
}

/** The metric of the whole round. */
export const aggregateLine = (rounds: readonly MeasuredRound[], metric: string): Point[] =>
  pointsOf(rounds, (round) =>
    metric === "accuracy" || metric === "loss" ? (round[metric] ?? undefined) : metricOf(round.metrics, metric),
  );

/** The metric of one participant. The accuracy and the loss of the result are those of its own evaluation, if it made one. */
export const participantLine = (rounds: readonly MeasuredRound[], metric: string, participantId: string): Point[] => {
  const own = metric === "accuracy" || metric === "loss" ? `evaluate.${metric}` : metric;
  return pointsOf(rounds, ({ participants }) => {
    const found = participants.find((participant) => participant.participantId === participantId);
    return found && metricOf(found.metrics, own);
  });
};

const metricOf = (metrics: Metrics, metric: string): number | undefined => {
  const at = metric.indexOf(".");
  const [kind, name] = [metric.slice(0, at), metric.slice(at + 1)];
  if (kind !== "train" && kind !== "evaluate") return undefined;
  // A metric may have the name of a property that every object inherits.
  return Object.hasOwn(metrics[kind], name) ? metrics[kind][name] : undefined;
};

function pointsOf(rounds: readonly MeasuredRound[], numberOf: (round: MeasuredRound) => number | undefined): Point[] {
  return rounds.flatMap((round) => {
    const value = numberOf(round);
    return value !== undefined && Number.isFinite(value) ? [{ round: round.round, value }] : [];
  });
}

/** A reason for which a participant could not evaluate, and the rounds with it. */
export interface EvaluationFailure {
  readonly participantId: string;
  readonly reason: string;
  readonly rounds: readonly number[];
}

export function evaluationFailures(rounds: readonly MeasuredRound[]): EvaluationFailure[] {
  const failures = new Map<string, { participantId: string; reason: string; rounds: number[] }>();
  for (const { round, participants } of rounds) {
    for (const { participantId, evaluation } of participants) {
      if (evaluation?.state !== "failed") continue;
      const reason = evaluation.reason ?? "no reason given";
      const key = JSON.stringify([participantId, reason]);
      const known = failures.get(key) ?? { participantId, reason, rounds: [] };
      known.rounds.push(round);
      failures.set(key, known);
    }
  }
  return [...failures.values()];
}

/** Whether a metric is a share, which is shown in percent. */
const isShare = (metric: string): boolean => /(^|\.)accuracy$/.test(metric);

/** A value with the decimals that its size needs, or with given ones. */
export function formatMetric(metric: string, value: number, decimals?: number): string {
  if (isShare(metric)) return `${(100 * value).toFixed(decimals === undefined ? 1 : Math.max(0, decimals - 2))}%`;
  if (decimals !== undefined) return decimals > 6 ? value.toExponential(1) : value.toLocaleString("en-US", digits(decimals));
  return Math.abs(value) >= 1e-3 || value === 0
    ? value.toLocaleString("en-US", { maximumSignificantDigits: Math.abs(value) >= 1000 ? 6 : 4 })
    : value.toExponential(2);
}

const digits = (decimals: number) => ({ minimumFractionDigits: decimals, maximumFractionDigits: decimals });
