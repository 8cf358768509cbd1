import type { Clock } from "../../common/clock.ts";
import { AppError, asAppError } from "../../common/errors.ts";
import type { Logger } from "../../common/logger.ts";
import type { UsageLog } from "../../proto/gen/tributary/usage/v1/usage.ts";
import type { ControlPlane } from "../access/clients/control-plane.ts";
import type { Credit, Reservation, ReserveInput } from "./credit.ts";
import type { Journal, JournalFigures } from "./journal/journal.ts";
import type { Progress, ServedRecord } from "./journal/records.ts";
import type { Held } from "./lease-account.ts";
import { LeaseBook, type LeaseFigures } from "./lease-book.ts";
import type { Permit } from "./permit.ts";
import { type Permitted, RatePermits } from "./rate-permits.ts";
import { reserveByCall } from "./reserve-by-call.ts";
import { type Division, Shipper } from "./ship.ts";

export interface LeasedCreditDeps {
  readonly access: Pick<ControlPlane["access"], "lease" | "reserve" | "reserveMany" | "release" | "settle">;
  /** Which control plane has which organization; absent: there is one. */
  readonly owners?: Division | undefined;
  readonly journal: Journal;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly edgeId: string;
}

interface Holding {
  readonly organizationId: string;
  held: Held;
  /** The permit under which the call runs, where parallel calls are limited. */
  readonly permit: Permit | undefined;
  /** The call has ended and holds nothing; credit that it still waits for goes back. */
  isOver: boolean;
}

/** Finished calls that the ledger does not have yet; above this number no new call is admitted. */
const PENDING_MAX = 50_000;
const SWEEP_MS = 250;
/** Of no lease. */
const NOTHING_HELD: Held = { generation: 0n, amount: 0n };
/** Well before a lease expires. */
const RENEW_MS = 15_000;

/**
 * Credit without an RPC per call: reserved from this edge's lease, recorded in its journal, and shipped to the ledger in the background.
 * Rate limits are leased in slices too; calls under a budget or a limit of a few calls are reserved one by one.
 */
export class LeasedCredit implements Credit {
  readonly #deps: LeasedCreditDeps;
  readonly #book: LeaseBook;
  readonly #shipper: Shipper;
  readonly #byCall: ReturnType<typeof reserveByCall>;
  readonly #permits: RatePermits;
  /** The lease credit of calls, from their reservation to their end. */
  readonly #held = new Map<string, Holding>();
  /** Undefined while there is nothing to sweep. */
  #cancelSweep: (() => void) | undefined;
  readonly #wake = () => this.#shipper.wake();

  constructor(deps: LeasedCreditDeps) {
    const { journal, access, clock, logger, edgeId, owners } = deps;
    this.#deps = deps;
    this.#book = new LeaseBook(deps);
    this.#permits = new RatePermits(clock);
    this.#byCall = reserveByCall({ ...deps, laneOf: owners?.laneOf, permits: this.#permits });
    this.#shipper = new Shipper({
      journal,
      access,
      clock,
      logger,
      edgeId,
      owners,
      returns: (isAsked) => this.#book.returns(isAsked),
      returned: (returns) => this.#book.acknowledge(returns),
      leased: () => this.#book.organizations(),
      endedEdges: journal.start.endedEdges,
    });
    // Ships the finals that the previous process left, and reports that it ended.
    this.#shipper.wake({ reportReturns: journal.start.endedEdges.length > 0 });
  }

  reserve(input: ReserveInput): Reservation | Promise<Reservation> {
    const trouble = this.trouble();
    // Before anything is reserved: a call that cannot be recorded cannot be made.
    if (trouble !== undefined) throw new AppError("UNAVAILABLE", trouble, { retryAfterSeconds: 1 });
    if (this.pending() >= PENDING_MAX) {
      throw new AppError("UNAVAILABLE", "Too many finished calls wait for their settlement. Try again shortly.", { retryAfterSeconds: 1 });
    }
    if (!this.#cancelSweep) this.#sweep();
    if (!input.isLimited) return this.#reserveLeased(input, undefined);
    if (input.isUncounted) return this.#reserveAlone(input);
    const permitted = this.#permits.take(input);
    if (permitted) return this.#reservePermitted(input, permitted);
    return this.#permits.coming(input)?.then(() => this.#reserveLater(input)) ?? this.#reserveAlone(input);
  }

  async grow(input: ReserveInput, more: bigint): Promise<bigint> {
    const holding = this.#held.get(input.intent.callId);
    try {
      if (!holding) return await this.#byCall.grow(input, more);
      return await this.#growHeld(holding, more);
    } catch (thrown) {
      const { code, message } = asAppError(thrown);
      if (code !== "QUOTA_EXCEEDED" && code !== "TEAM_BLOCKED")
        this.#deps.logger.warn({ callId: input.intent.callId, code, message }, "a call could not get more credit");
      return 0n;
    }
  }

  served(served: ServedRecord): void {
    this.#deps.journal.served(served);
  }

  progress(progress: Progress): void {
    this.#deps.journal.progress(progress);
  }

  settle(log: UsageLog): Promise<void> {
    const holding = this.#held.get(log.callId);
    if (holding) {
      this.#held.delete(log.callId);
      holding.isOver = true;
      this.#book.settle(holding.organizationId, holding.held, log.cost);
      holding.permit?.end();
    }
    return this.#deps.journal.final(log, holding?.held.generation).then(this.#wake);
  }

  recall(organizationId: string): void {
    this.#book.recall(organizationId);
    this.#shipper.wake({ reportReturns: true });
  }

  pending(): number {
    return this.#deps.journal.pending();
  }

  settled(organizationId?: string): Promise<void> {
    return this.#shipper.idle(organizationId);
  }

  trouble(): string | undefined {
    const health = this.#deps.journal.healthy();
    return health.ok ? undefined : health.reason;
  }

  journal(): JournalFigures {
    return this.#deps.journal.figures();
  }

  leases(): LeaseFigures {
    return this.#book.figures();
  }

  async close(): Promise<void> {
    this.#cancelSweep?.();
    this.#book.forgetDemand();
    this.#shipper.wake({ reportReturns: this.#book.hasExcess() });
    await Promise.all([this.#shipper.idle(), this.#byCall.close()]);
    this.#shipper.stop();
    await this.#deps.journal.close();
  }

  /** The permit that the call waited for is here, or was refused. */
  #reserveLater(input: ReserveInput): Reservation | Promise<Reservation> {
    const permitted = this.#permits.take(input, { hasWaited: true });
    return permitted ? this.#reservePermitted(input, permitted) : this.#reserveAlone(input);
  }

  async #reserveAlone(input: ReserveInput): Promise<Reservation> {
    return this.#begin(input, await this.#byCall.reserve(input));
  }

  #reservePermitted(input: ReserveInput, permitted: Permitted): Reservation | Promise<Reservation> {
    const putBack = (thrown: unknown) => {
      permitted.permit.putBack(input.tokens);
      throw thrown;
    };
    try {
      const reservation = this.#reserveLeased(input, permitted);
      return reservation instanceof Promise ? reservation.catch(putBack) : reservation;
    } catch (thrown) {
      return putBack(thrown);
    }
  }

  #reserveLeased(input: ReserveInput, permitted: Permitted | undefined): Reservation | Promise<Reservation> {
    const { organizationId, worstCase } = input.intent;
    if (worstCase === 0n) return this.#beginFree(input, permitted);
    const held = this.#book.reserve(organizationId, worstCase);
    if (!(held instanceof Promise)) return this.#beginHeld(input, held, permitted);
    return held.catch((error: unknown) => this.#onceSettled(input, error)).then((later) => this.#beginHeld(input, later, permitted));
  }

  /**
   * Credit held under an expired lease was returned with that lease, and may be the very credit that is granted now. It is reserved again
   * before anything counts as more; otherwise the call would spend it twice.
   */
  async #growHeld(holding: Holding, more: bigint): Promise<bigint> {
    const before = holding.held;
    const grown = await this.#holdMore(holding, more);
    if (holding.held.generation === before.generation) return grown;
    await this.#holdMore(holding, before.amount);
    const { amount } = holding.held;
    return amount > before.amount ? amount - before.amount : 0n;
  }

  async #holdMore(holding: Holding, more: bigint): Promise<bigint> {
    const held = await this.#book.reserve(holding.organizationId, more);
    // The call ended while it waited: only this code can return the credit.
    if (holding.isOver) {
      this.#book.settle(holding.organizationId, held, 0n);
      return 0n;
    }
    const { generation, amount } = holding.held;
    holding.held = { ...held, amount: (generation === held.generation ? amount : 0n) + held.amount };
    return held.amount;
  }

  /**
   * Refused while ended calls are not in the ledger yet: afterwards their unused credit may be enough, or the team is blocked and the
   * caller gets that error.
   */
  async #onceSettled({ intent: { organizationId, worstCase } }: ReserveInput, error: unknown): Promise<Held> {
    if (asAppError(error).code !== "QUOTA_EXCEEDED" || this.pending() === 0) throw error;
    await this.#shipper.idle(organizationId);
    return this.#book.reserve(organizationId, worstCase);
  }

  #beginHeld(input: ReserveInput, held: Held, permitted: Permitted | undefined): Reservation {
    const { callId, organizationId } = input.intent;
    const permit = permitted?.permit.isParallel ? permitted.permit : undefined;
    this.#held.set(callId, { organizationId, held, permit, isOver: false });
    return this.#begin(input, { reserved: held.amount, rate: permitted?.rate });
  }

  /** The call costs nothing; under a permit of parallel calls its end has to be known. */
  #beginFree(input: ReserveInput, permitted: Permitted | undefined): Reservation {
    if (permitted?.permit.isParallel) return this.#beginHeld(input, NOTHING_HELD, permitted);
    return this.#begin(input, { reserved: 0n, rate: permitted?.rate });
  }

  #begin({ intent }: ReserveInput, reservation: Reservation): Reservation {
    try {
      this.#deps.journal.intent(intent);
    } catch (thrown) {
      this.#giveBack(intent);
      throw thrown;
    }
    return reservation;
  }

  #giveBack({ callId, organizationId }: ReserveInput["intent"]): void {
    const holding = this.#held.get(callId);
    this.#held.delete(callId);
    if (holding) this.#book.settle(holding.organizationId, holding.held, 0n);
    else this.#byCall.release({ callId, organizationId });
  }

  /** Returns credit that organizations no longer need, and renews leases of long calls; ends when there is nothing of either. */
  #sweep(): void {
    this.#cancelSweep = this.#deps.clock.after(SWEEP_MS, () => {
      if (this.#book.hasExcess()) this.#shipper.wake({ reportReturns: true });
      this.#book.renew(RENEW_MS);
      this.#byCall.returnUnused();
      this.#cancelSweep = undefined;
      if (!this.#book.isAtRest || !this.#permits.isAtRest) this.#sweep();
    });
  }
}
