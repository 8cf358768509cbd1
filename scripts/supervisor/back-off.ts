export interface BackOff {
  readonly firstMs: number;
  readonly maxMs: number;
  /** A child that was up this long has earned a quick restart again. */
  readonly resetAfterMs: number;
}

export const defaultBackOff: BackOff = { firstMs: 200, maxMs: 10_000, resetAfterMs: 30_000 };

/** How long to wait before the next start: doubled each time, from the first again after a good run. */
export function nextDelayMs(backOff: BackOff, { previousMs, upMs }: { previousMs: number | undefined; upMs: number }): number {
  if (previousMs === undefined || upMs >= backOff.resetAfterMs) return backOff.firstMs;
  return Math.min(previousMs * 2, backOff.maxMs);
}
