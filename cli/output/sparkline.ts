const STEPS = "▁▂▃▄▅▆▇█";

export interface Range {
  readonly low: number;
  readonly high: number;
}

export const rangeOf = (values: readonly number[]): Range => ({ low: Math.min(...values), high: Math.max(...values) });

/** A one-line chart of the last `width` values, scaled from their minimum to their maximum or over the range that several charts share. */
export function sparkline(values: readonly number[], width: number, range?: Range): string {
  const last = values.slice(-width);
  const { low, high } = range ?? rangeOf(last);
  return last
    .map((value) => STEPS[high === low ? Math.floor(STEPS.length / 2) : Math.round(((value - low) / (high - low)) * (STEPS.length - 1))])
    .join("");
}
