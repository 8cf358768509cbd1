/** Verifications of the ledger by this control plane since its start, for the metrics. */
export class Verifications {
  readonly #figures = { ok: 0, failed: 0 };

  get figures(): Readonly<Record<"ok" | "failed", number>> {
    return this.#figures;
  }

  count({ ok }: { readonly ok: boolean }): void {
    this.#figures[ok ? "ok" : "failed"]++;
  }
}
