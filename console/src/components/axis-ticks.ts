const TICKS_MAX = 5;
const STEPS = [1, 2, 5, 10];

/** Even ticks from zero to at least `max`, with steps of 1, 2 or 5 times a power of ten; of counts only whole ones. */
export function axisTicks(max: number, isCount: boolean): number[] {
  if (!(max > 0)) return [0];
  const rough = max / (TICKS_MAX - 1);
  const power = Math.floor(Math.log10(rough));
  const unit = 10 ** power;
  const step = Math.max(unit * (STEPS.find((factor) => factor * unit >= rough) ?? 10), isCount ? 1 : 0);
  const digits = decimalsOf(step);
  return Array.from({ length: Math.ceil(max / step - ROUNDING) + 1 }, (_, index) => Number((index * step).toFixed(digits)));
}

const ROUNDING = 1e-9;

/** As many decimals as the step has, so that every label is exact and all have the same. */
export function axisUsd(value: number, ticks: readonly number[]): string {
  return `$${value.toFixed(Math.max(2, decimalsOf(ticks[1] ?? 1)))}`;
}

const decimalsOf = (step: number): number => Math.max(0, -Math.floor(Math.log10(step) + ROUNDING));
