import type { Clock } from "../../../common/clock.ts";
import { AppError } from "../../../common/errors.ts";

/** So long an organization counts as full; then a call finds out whether there is room again. */
const FULL_MS = 60_000;
const ORGANIZATIONS_MAX = 10_000;

/**
 * Organizations whose responses the control plane refused to store, because all that they have stored is at its limit. Their next responses
 * are refused before they are paid for. Nothing is looked up for the others.
 */
export class FullStores {
  readonly #clock: Clock;
  readonly #refusals = new Map<string, { untilMs: number; refusal: AppError }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Notes a failed write if it failed for want of room. */
  note(organizationId: string, thrown: unknown): void {
    if (!(thrown instanceof AppError) || thrown.code !== "PAYLOAD_TOO_LARGE" || thrown.param !== "store") return;
    if (this.#refusals.size >= ORGANIZATIONS_MAX) this.#refusals.clear();
    this.#refusals.set(organizationId, { untilMs: this.#clock.now() + FULL_MS, refusal: thrown });
  }

  /** Throws PAYLOAD_TOO_LARGE if the organization is known to be full. */
  requireRoom(organizationId: string): void {
    const known = this.#refusals.get(organizationId);
    if (!known) return;
    if (this.#clock.now() < known.untilMs) {
      const { code, message, param } = known.refusal;
      throw new AppError(code, message, { param });
    }
    this.#refusals.delete(organizationId);
  }
}
