import { CALL_MS_MAX } from "./call-life.ts";

/**
 * The limits of tokens under which calls began. An answer counts when it is settled, which may be after the minute in which its call counts, so the
 * limits are known for longer than their minutes.
 */
export class TokenLimits {
  /** When a call began last under each of them. */
  readonly #begunMs = new Map<string, number>();
  readonly #models = new Set<string>();

  began(name: string, kind: string, nowMs: number): void {
    this.#begunMs.set(name, nowMs);
    if (kind === "model") this.#models.add(name);
  }

  has(name: string): boolean {
    return this.#begunMs.has(name);
  }

  get size(): number {
    return this.#begunMs.size;
  }

  /** How many of them are limits of models. */
  get models(): number {
    return this.#models.size;
  }

  prune(nowMs: number): void {
    for (const [name, begunMs] of this.#begunMs) {
      if (nowMs - begunMs < CALL_MS_MAX) continue;
      this.#begunMs.delete(name);
      this.#models.delete(name);
    }
  }
}
