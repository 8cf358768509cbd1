export interface BackOff {
  readonly firstMs: number;
  readonly maxMs: number;
  /** After this uptime, the delay of the next restart is reset. */
  readonly resetAfterMs: number;
}

export const defaultBackOff: BackOff = { firstMs: 200, maxMs: 10_000, resetAfterMs: 30_000 };

/** The delay before the next start: doubled each time, and reset after a good run. */
export function nextDelayMs(backOff: BackOff, { previousMs, upMs }: { previousMs: number | undefined; upMs: number }): number {
  if (previousMs === undefined || upMs >= backOff.resetAfterMs) return backOff.firstMs;
  return Math.min(previousMs * 2, backOff.maxMs);
}
