const STEPS = "▁▂▃▄▅▆▇█";

/** A curve in one line; the last `width` values, from the least of them to the greatest. */
export function sparkline(values: readonly number[], width: number): string {
  const last = values.slice(-width);
  const [low, high] = [Math.min(...last), Math.max(...last)];
  return last
    .map((value) => STEPS[high === low ? Math.floor(STEPS.length / 2) : Math.round(((value - low) / (high - low)) * (STEPS.length - 1))])
    .join("");
}
