const STEPS = "▁▂▃▄▅▆▇█";

/** A one-line chart of the last `width` values, scaled from their minimum to their maximum. */
export function sparkline(values: readonly number[], width: number): string {
  const last = values.slice(-width);
  const [low, high] = [Math.min(...last), Math.max(...last)];
  return last
    .map((value) => STEPS[high === low ? Math.floor(STEPS.length / 2) : Math.round(((value - low) / (high - low)) * (STEPS.length - 1))])
    .join("");
}
