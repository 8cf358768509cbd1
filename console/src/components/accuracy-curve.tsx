import { TimeChart } from "./charts/time-chart.tsx";

const percent = (share: number): string => `${(100 * share).toFixed(1)}%`;

export interface EvaluatedRound {
  readonly round: number;
  readonly accuracy: number;
}

/** Accuracy by round, for rounds with an evaluation. */
export function AccuracyCurve({ rounds, height = 180 }: { rounds: readonly EvaluatedRound[]; height?: number }) {
  return (
    <TimeChart
      kind="line"
      isRange
      height={height}
      label={`Accuracy of ${rounds.length} rounds, latest ${percent(rounds.at(-1)?.accuracy ?? 0)}`}
      data={rounds.map(({ round, accuracy }) => ({ label: `Round ${round}`, accuracy }))}
      series={[{ name: "accuracy", label: "Accuracy", color: "river.6" }]}
      format={percent}
    />
  );
}
