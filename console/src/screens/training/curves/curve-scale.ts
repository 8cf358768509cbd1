const VALUE_TICKS = 4;
const STEPS = [1, 2, 5, 10];
const ROUNDING = 1e-9;

export interface ValueAxis {
  readonly ticks: readonly number[];
  readonly low: number;
  readonly high: number;
  /** Decimals that every tick needs. */
  readonly decimals: number;
}

/** An axis fitted to the values, with even ticks: 94 % to 96 % is a whole chart, not a flat line. */
export function valueAxis(values: readonly number[]): ValueAxis {
  const [least, most] = [values.reduce((low, one) => Math.min(low, one)), values.reduce((high, one) => Math.max(high, one))];
  const margin = most > least ? 0 : Math.abs(most) * 0.05 || 0.5;
  const step = niceStep((most - least + 2 * margin) / VALUE_TICKS);
  const decimals = Math.max(0, -Math.floor(Math.log10(step) + ROUNDING));
  const [from, to] = [Math.floor((least - margin) / step + ROUNDING), Math.ceil((most + margin) / step - ROUNDING)];
  const ticks = Array.from({ length: to - from + 1 }, (_, index) => Number(((from + index) * step).toFixed(decimals)));
  return { ticks, low: ticks[0] ?? least, high: ticks.at(-1) ?? most, decimals };
}

/** Whole rounds at even distances; the first one is always among them. */
export function roundTicks(first: number, last: number, ticksMax = 10): number[] {
  const step = Math.max(1, niceStep((last - first) / Math.max(1, ticksMax - 1)));
  const rounds = [first];
  // A multiple of the step that is close to the first tick would touch its label.
  for (let round = Math.ceil((first + step / 2) / step) * step; round <= last; round += step) if (round > first) rounds.push(round);
  return rounds;
}

/** 1, 2 or 5 times a power of ten, at least as large as asked. */
function niceStep(rough: number): number {
  if (!(rough > 0)) return 1;
  const unit = 10 ** Math.floor(Math.log10(rough));
  return unit * (STEPS.find((factor) => factor * unit >= rough * (1 - ROUNDING)) ?? 10);
}
