import type { Clock } from "../../common/clock.ts";
import { organizationAccount } from "../domain/ledger.ts";
import type { Store } from "../stores/store.ts";
import { grantLease, LEASE_USE_MS, type LeaseInput } from "../writes/leases.ts";
import type { Reservations } from "./reservations.ts";

export interface LeaseAnswer {
  generation: number;
  granted: bigint;
  lifeMs: number;
  isStrict: boolean;
  isBlocked: boolean;
}

const NO_LEASE = { generation: 0, granted: 0n };

/** Hands out slices of credit. They are in the store: a control plane that starts again knows what its edges may spend. */
export class Leases {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #policy: "document" | "strict";
  readonly #reservations: Pick<Reservations, "reservedOf" | "keepFree">;

  constructor(options: {
    store: Store;
    clock: Clock;
    policy: "document" | "strict";
    reservations: Pick<Reservations, "reservedOf" | "keepFree">;
  }) {
    this.#store = options.store;
    this.#clock = options.clock;
    this.#policy = options.policy;
    this.#reservations = options.reservations;
  }

  async lease(input: LeaseInput): Promise<LeaseAnswer> {
    // Until the grant is in the store, calls that are reserved one by one must not find the same credit.
    const done = this.#reservations.keepFree(input.organizationId, input.want > input.need ? input.want : input.need);
    try {
      const { lease, isBlocked } = await this.#store.transaction(async (tx) => {
        const held = this.#reservations.reservedOf(input.organizationId);
        const account = await tx.get("accounts", organizationAccount(input.organizationId));
        return { lease: await grantLease(tx, input, { held, now: this.#clock.now() }), isBlocked: (account?.balance ?? 0n) < 0n };
      });
      const { generation, granted } = lease ?? NO_LEASE;
      return { generation, granted, lifeMs: LEASE_USE_MS, isStrict: this.#policy === "strict", isBlocked };
    } finally {
      done();
    }
  }
}
