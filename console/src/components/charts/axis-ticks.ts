const TICKS_MAX = 5;
const STEPS = [1, 2, 5, 10];

/** Even ticks from zero to at least `max`, with steps of 1, 2 or 5 times a power of ten; of counts only whole ones. */
export function axisTicks(max: number, isCount: boolean): number[] {
  if (!(max > 0)) return [0];
  const rough = max / (TICKS_MAX - 1);
  const power = Math.floor(Math.log10(rough));
  const unit = 10 ** power;
  const step = Math.max(unit * (STEPS.find((factor) => factor * unit >= rough * (1 - ROUNDING)) ?? 10), isCount ? 1 : 0);
  const digits = decimalsOf(step);
  return Array.from({ length: Math.ceil(max / step - ROUNDING) + 1 }, (_, index) => Number((index * step).toFixed(digits)));
}

const ROUNDING = 1e-9;

/** Even ticks around `min` and `max` that need not begin at zero, for curves whose change matters and not their height. */
export function rangeTicks(min: number, max: number): number[] {
  const step = axisTicks(max - min > 0 ? max - min : Math.abs(max) || 1, false)[1] ?? 1;
  const first = Math.floor(min / step + ROUNDING);
  const last = Math.max(Math.ceil(max / step - ROUNDING), first + 1);
  return Array.from({ length: last - first + 1 }, (_, index) => Number(((first + index) * step).toFixed(decimalsOf(step))));
}

/** As many decimals as the step has, so that every label is exact and all have the same. */
export function axisUsd(value: number, ticks: readonly number[]): string {
  return `$${value.toFixed(Math.max(2, decimalsOf(ticks[1] ?? 1)))}`;
}

const decimalsOf = (step: number): number => Math.max(0, -Math.floor(Math.log10(step) + ROUNDING));
