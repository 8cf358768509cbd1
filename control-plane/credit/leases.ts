import type { Clock } from "../../common/clock.ts";
import type { Store } from "../stores/store.ts";
import { grantLease, LEASE_USE_MS, type LeaseGrant, type LeaseInput } from "../writes/leases.ts";
import type { Reservations } from "./reservations.ts";

export interface LeaseAnswer {
  generation: number;
  granted: bigint;
  lifeMs: number;
  isStrict: boolean;
  isBlocked: boolean;
}

export interface LeasesOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly policy: "document" | "strict";
  readonly reservations: Pick<Reservations, "reservedOf" | "keepFree">;
  /** Resolves when the edges have brought what had ended, or were waited for long enough. */
  readonly caughtUp: () => Promise<void>;
}

const NO_LEASE = { generation: 0, granted: 0n };

/** Hands out slices of credit. They are in the store: a control plane that starts again knows what its edges may spend. */
export class Leases {
  readonly #options: LeasesOptions;
  /** Whoever is refused while the edges are asked waits for the same answer. */
  #catchingUp: Promise<void> | undefined;

  constructor(options: LeasesOptions) {
    this.#options = options;
  }

  async lease(input: LeaseInput): Promise<LeaseAnswer> {
    const grant = await this.#grant(input);
    if (!isWaitWorthwhile(input, grant)) return this.#answer(grant);
    // What ended at other edges and is not settled yet may leave enough, or block the team: nobody is refused before that is known.
    await this.#catchUp();
    return this.#answer(await this.#grant(input));
  }

  async #grant(input: LeaseInput): Promise<LeaseGrant> {
    const { store, clock, reservations } = this.#options;
    // Until the grant is in the store, calls that are reserved one by one must not find the same credit.
    const done = reservations.keepFree(input.organizationId, input.want > input.need ? input.want : input.need);
    try {
      return await store.transaction((tx) =>
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

  #answer({ lease, balance }: LeaseGrant): LeaseAnswer {
    const { generation, granted } = lease ?? NO_LEASE;
    return { generation, granted, lifeMs: LEASE_USE_MS, isStrict: this.#options.policy === "strict", isBlocked: balance < 0n };
  }
}

/** A call finds nothing, the team is not blocked, and somebody else has credit that calls may have used or left. */
function isWaitWorthwhile({ need }: LeaseInput, { amount, balance, elsewhere }: LeaseGrant): boolean {
  return need > 0n && amount === 0n && balance >= 0n && elsewhere > 0n;
}
