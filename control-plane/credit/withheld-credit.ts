/**
 * Credit that leases and rounds of training which are being written were requested for: until it is known what they get, calls that are
 * reserved one by one must not find it.
 */
export class WithheldCredit {
  readonly #amounts = new Map<string, bigint>();
  readonly #written = new Map<string, PromiseWithResolvers<void>>();

  /** Withholds an amount until the returned function is called. */
  hold(organizationId: string, amount: bigint): () => void {
    add(this.#amounts, organizationId, amount);
    return () => {
      add(this.#amounts, organizationId, -amount);
      this.#written.get(organizationId)?.resolve();
      this.#written.delete(organizationId);
    };
  }

  of(organizationId: string): bigint {
    return this.#amounts.get(organizationId) ?? 0n;
  }

  /** Resolves when one of those of the organization is written. */
  written(organizationId: string): Promise<void> {
    const known = this.#written.get(organizationId) ?? Promise.withResolvers<void>();
    this.#written.set(organizationId, known);
    return known.promise;
  }
}

/** Adds to a sum, which is there only while it is above zero. */
export function add(sums: Map<string, bigint>, name: string, amount: bigint): void {
  const sum = (sums.get(name) ?? 0n) + amount;
  if (sum > 0n) sums.set(name, sum);
  else sums.delete(name);
}
