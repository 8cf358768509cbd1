import type { Clock } from "../../common/clock.ts";
import { organizationScope } from "../stores/scopes.ts";
import type { Store } from "../stores/store.ts";
import { grantLease, LEASE_USE_MS, type LeaseGrant, type LeaseInput } from "../writes/leases.ts";
import type { Reservations } from "./reservations.ts";

/** The state of an edge's lease after a request. */
export interface LeaseAnswer {
  generation: number;
  granted: bigint;
  lifeMs: number;
  isStrict: boolean;
  isBlocked: boolean;
}

/** What leases are granted with. */
export interface LeasesOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly policy: "document" | "strict";
  readonly reservations: Pick<Reservations, "reservedOf" | "withhold">;
  /** Resolves when the edges have reported their finished calls, or after a timeout. */
  readonly caughtUp: () => Promise<void>;
}

const NO_LEASE = { generation: 0, granted: 0n };

/** Grants slices of credit. Leases are in the store, so a restarted control plane knows what its edges may spend. */
export class Leases {
  readonly #options: LeasesOptions;
  /** Requests that fail while edges are being flushed share that flush. */
  #catchingUp: Promise<void> | undefined;
  readonly #figures = { granted: 0, refused: 0, unchanged: 0 };

  constructor(options: LeasesOptions) {
    this.#options = options;
  }

  async lease(input: LeaseInput): Promise<LeaseAnswer> {
    const grant = await this.#grant(input);
    if (!isWaitWorthwhile(input, grant)) return this.#answer(input, grant);
    // Calls that ended at other edges and are not settled yet may free credit, or block the team. Refuse only after they are known.
    await this.#catchUp();
    return this.#answer(input, await this.#grant(input));
  }

  /** Requests by what came of them, since the start. */
  get figures(): Readonly<Record<"granted" | "refused" | "unchanged", number>> {
    return this.#figures;
  }

  async #grant(input: LeaseInput): Promise<LeaseGrant> {
    const { store, clock, reservations } = this.#options;
    // Until the grant is stored, calls that are reserved one by one must not get the same credit.
    const done = reservations.withhold(input.organizationId, input.want > input.need ? input.want : input.need);
    try {
      return await store.transaction(organizationScope(store, input.organizationId), (tx) =>
        grantLease(tx, input, { held: reservations.reservedOf(input.organizationId), now: clock.now() }),
      );
    } finally {
      done();
    }
  }

  #catchUp(): Promise<void> {
    this.#catchingUp ??= this.#options.caughtUp().finally(() => {
      this.#catchingUp = undefined;
    });
    return this.#catchingUp;
  }

  #answer({ need }: LeaseInput, { lease, balance, amount }: LeaseGrant): LeaseAnswer {
    this.#figures[amount > 0n ? "granted" : need > 0n ? "refused" : "unchanged"]++;
    const { generation, granted } = lease ?? NO_LEASE;
    return { generation, granted, lifeMs: LEASE_USE_MS, isStrict: this.#options.policy === "strict", isBlocked: balance < 0n };
  }
}

/** The call got no credit, the organization is not blocked, and credit held elsewhere may have been returned. */
function isWaitWorthwhile({ need }: LeaseInput, { amount, balance, elsewhere }: LeaseGrant): boolean {
  return need > 0n && amount === 0n && balance >= 0n && elsewhere > 0n;
}
