/** What decides whether the sampling of a federation's participants counts for its privacy. */
export interface SampledSettings {
  readonly dp?: { readonly mode: string } | undefined;
  readonly secureAggregation?: unknown;
  readonly fraction: number;
  readonly overSelect: number;
  readonly selection?: unknown;
  readonly isOpen: boolean;
  /** Whether the strategy needs the sum of the updates alone. */
  readonly isSum: boolean;
}

/**
 * The probability with which a participant is sampled for a round, if the sampling is part of the federation's privacy: noise on a sum, of which
 * each participant is a part or not, independently of the others. With `overSelect` the first answers count, so it would depend on them. In
 * an open federation each observer sees which participants come and go, and how many there are changes, so that its sampling counts for nothing.
 * A `selection` depends on the participants, or on how many were drawn.
 */
export function countedShare(asked: SampledSettings): number | undefined {
  const { dp, secureAggregation, fraction, overSelect, selection, isOpen, isSum } = asked;
  if (isOpen || selection !== undefined || secureAggregation || !isSum) return undefined;
  return dp?.mode === "central" && overSelect === 0 && fraction < 1 ? fraction : undefined;
}
