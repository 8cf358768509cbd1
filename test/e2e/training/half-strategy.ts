/** An own strategy: goes a share of the way from the base to the mean of the updates. */
export const HALF = `
type Parameters = Record<string, Float32Array>;
type Context = { base?: Parameters; settings: { lr: number } };
export function aggregate(updates: { weight: number; parameters: Parameters }[], { base, settings }: Context) {
  const total = updates.reduce((sum, { weight }) => sum + weight, 0);
  return Object.fromEntries(Object.entries(updates[0].parameters).map(([name, first]) => [name, first.map((_, at) => {
    const mean = updates.reduce((sum, { weight, parameters }) => sum + (weight / total) * parameters[name][at], 0);
    return base ? base[name][at] + settings.lr * (mean - base[name][at]) : mean;
  })]));
}`;
