import type { Clock } from "../../common/clock.ts";
import { AppError, asAppError } from "../../common/errors.ts";
import type { Logger } from "../../common/logger.ts";
import type { UsageLog } from "../../proto/gen/tributary/usage/v1/usage.ts";
import type { ControlPlane } from "../clients/control-plane.ts";
import type { Credit, Reservation, ReserveInput } from "./credit.ts";
import { isTransient } from "./transient.ts";

export interface RpcCreditDeps {
  readonly access: Pick<ControlPlane["access"], "reserve" | "settle" | "release">;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly edgeId: string;
  readonly limits?: Partial<CreditLimits>;
}

export interface CreditLimits {
  reserveMs: number;
  settleMs: number;
  /** How long a client waits for its settlement. */
  patienceMs: number;
  backOffMs: number;
  backOffMsMax: number;
  /** Settlements kept in memory; at the limit no new call is admitted. */
  pendingMax: number;
}

const LIMITS: CreditLimits = { reserveMs: 1000, settleMs: 2000, patienceMs: 15_000, backOffMs: 50, backOffMsMax: 1000, pendingMax: 10_000 };

const RELEASE_ATTEMPTS = 5;

/** Credit by one RPC for each step. Leases and a journal will replace it behind the same port. */
export function createRpcCredit(deps: RpcCreditDeps): Credit {
  return new RpcCredit(deps);
}

class RpcCredit implements Credit {
  readonly #deps: RpcCreditDeps;
  readonly #limits: CreditLimits;
  /** Settlements whose client gave up waiting. One loop empties it, so that an outage is not met with a storm. */
  readonly #backlog: UsageLog[] = [];
  #emptying = false;
  #pending = 0;
  #idleWaiters: (() => void)[] = [];

  constructor(deps: RpcCreditDeps) {
    this.#deps = deps;
    this.#limits = { ...LIMITS, ...deps.limits };
  }

  async reserve(input: ReserveInput): Promise<Reservation> {
    if (this.#pending >= this.#limits.pendingMax) {
      throw new AppError("UNAVAILABLE", "Too many finished calls wait for their settlement. Try again shortly.", { retryAfterSeconds: 1 });
    }
    const request = { ...input, tokens: BigInt(input.tokens), edgeId: this.#deps.edgeId };
    try {
      const { reserved, rate } = await this.#deps.access.reserve(request, { deadlineMs: this.#limits.reserveMs });
      return { reserved, rate };
    } catch (thrown) {
      const error = asAppError(thrown);
      // Nobody knows whether it was set aside: give it back, or it is missing until it expires.
      if (isTransient(error)) this.release(input.callId);
      throw error;
    }
  }

  async settle(log: UsageLog): Promise<void> {
    const { clock } = this.#deps;
    this.#pending++;
    const deadlineMs = clock.monotonicMs() + this.#limits.patienceMs;
    for (let delayMs = this.#limits.backOffMs; ; delayMs = this.#longer(delayMs)) {
      const leftMs = deadlineMs - clock.monotonicMs();
      if (await this.#trySettle(log, Math.max(1, Math.min(this.#limits.settleMs, leftMs)))) return this.#finished();
      if (clock.monotonicMs() + delayMs >= deadlineMs) break;
      await clock.sleep(delayMs);
    }
    this.#backlog.push(log);
    void this.#emptyBacklog();
  }

  release(callId: string): void {
    void this.#release(callId);
  }

  pending(): number {
    return this.#pending;
  }

  async drained(): Promise<void> {
    if (this.#pending > 0) await new Promise<void>((resolve) => this.#idleWaiters.push(resolve));
  }

  async #emptyBacklog(): Promise<void> {
    if (this.#emptying) return;
    this.#emptying = true;
    let delayMs = this.#limits.backOffMs;
    for (let next = this.#backlog[0]; next !== undefined; next = this.#backlog[0]) {
      if (await this.#trySettle(next, this.#limits.settleMs)) {
        this.#backlog.shift();
        this.#finished();
        delayMs = this.#limits.backOffMs;
      } else {
        await this.#deps.clock.sleep(delayMs);
        delayMs = this.#longer(delayMs);
      }
    }
    this.#emptying = false;
  }

  /** True when there is nothing more to do for this call. The call id makes a repetition harmless. */
  async #trySettle(log: UsageLog, deadlineMs: number): Promise<boolean> {
    const { access, edgeId, logger } = this.#deps;
    try {
      await access.settle({ settlements: [{ log, leaseGeneration: 0n }], edgeId, returns: [] }, { deadlineMs });
      return true;
    } catch (thrown) {
      const error = asAppError(thrown);
      if (isTransient(error)) return false;
      // Refused for what it says: asking again changes nothing. This is money lost or counted twice, so it is loud.
      logger.error({ callId: log.callId, code: error.code, cost: log.cost.toString(), reason: error.message }, "a settlement was refused");
      return true;
    }
  }

  async #release(callId: string): Promise<void> {
    let delayMs = this.#limits.backOffMs;
    for (let attempt = 0; attempt < RELEASE_ATTEMPTS; attempt++) {
      try {
        await this.#deps.access.release({ callId }, { deadlineMs: this.#limits.reserveMs });
        return;
      } catch {
        await this.#deps.clock.sleep(delayMs);
        delayMs = this.#longer(delayMs);
      }
    }
    this.#deps.logger.warn({ callId }, "a reservation could not be released; it expires by itself");
  }

  #finished(): void {
    this.#pending--;
    if (this.#pending > 0) return;
    for (const resolve of this.#idleWaiters) resolve();
    this.#idleWaiters = [];
  }

  #longer(delayMs: number): number {
    return Math.min(delayMs * 2, this.#limits.backOffMsMax);
  }
}
