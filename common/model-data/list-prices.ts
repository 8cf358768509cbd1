/** Nano-USD per 1,000,000 tokens. */
export interface TokenPrices {
  readonly input: bigint;
  readonly output: bigint;
  readonly cachedInput?: bigint;
  readonly cacheWrite?: bigint;
}

/** Nano-USD per 1,000,000 of the unit that the provider sells. */
export interface ListPrices extends TokenPrices {
  /** Absent: tokens. */
  readonly unit?: "millisecond" | "character" | "search";
  readonly audioInput?: bigint;
  readonly audioOutput?: bigint;
}
