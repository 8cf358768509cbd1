import type { Clock } from "../../common/clock.ts";
import { AppError } from "../../common/errors.ts";
import { gather, type Outcome } from "../../common/gather.ts";
import { slotOf } from "../../common/slots.ts";
import { NotOwner } from "../domain/not-owner.ts";
import { organizationScope } from "../stores/scopes.ts";
import type { Store } from "../stores/store.ts";
import { grantLeases, LEASE_USE_MS, type LeaseGrant, type LeaseInput } from "../writes/leases.ts";
import type { EndedCalls } from "./ended-calls.ts";
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
  readonly ended: Pick<EndedCalls, "learn" | "inVain">;
}

const NO_LEASE = { generation: 0, granted: 0n };
/**
 * More than one commit ever finds waiting: requests that a batch leaves behind wait for another commit, so that a limit below what arrives
 * during a slow commit would make every later request late.
 */
const BATCH_MAX = 2_000;

interface Asked {
  readonly input: LeaseInput;
  /** Aborted when the edge no longer waits. */
  readonly signal: AbortSignal | undefined;
}

/** Grants slices of credit. Leases are in the store, so a restarted control plane knows what its edges may spend. */
export class Leases {
  readonly #options: LeasesOptions;
  /** One commit grants the leases that were requested while the last one ran. */
  readonly #gathered = gather((requests: Asked[]) => this.#grantWaiting(requests), { most: BATCH_MAX });
  readonly #figures = { granted: 0, refused: 0, unchanged: 0 };

  constructor(options: LeasesOptions) {
    this.#options = options;
  }

  async lease(input: LeaseInput, signal?: AbortSignal): Promise<LeaseAnswer> {
    const grant = await this.#grant({ input, signal });
    if (!isWaitWorthwhile(input, grant)) return this.#answer(input, grant);
    // Other edges may have credit in advance, and calls that ended there may free some, or block the team. Refuse only after all is known.
    if (!(await this.#options.ended.learn(input.organizationId, { holder: "leases" }))) return this.#answer(input, grant);
    const need = input.need - grant.amount;
    const rest = { ...input, need, want: need, free: input.free + grant.amount };
    const more = await this.#grant({ input: rest, signal });
    if (isWaitWorthwhile(rest, more)) this.#options.ended.inVain(input.organizationId, { holder: "leases" });
    return this.#answer(input, { ...more, amount: grant.amount + more.amount });
  }

  /** Requests by what came of them, since the start. */
  get figures(): Readonly<Record<"granted" | "refused" | "unchanged", number>> {
    return this.#figures;
  }

  async #grant(asked: Asked): Promise<LeaseGrant> {
    const { input } = asked;
    // Until the grant is stored, calls that are reserved one by one must not get the same credit.
    const done = this.#options.reservations.withhold(input.organizationId, input.want > input.need ? input.want : input.need);
    try {
      return await this.#gathered(asked);
    } finally {
      done();
    }
  }

  /** An edge that no longer waits has asked again: granted too, its first request would only make the second late. */
  async #grantWaiting(requests: readonly Asked[]): Promise<Outcome<LeaseGrant>[]> {
    const waiting = requests.filter(({ signal }) => !signal?.aborted);
    const outcomes = await this.#grantAll(waiting.map(({ input }) => input));
    const byRequest = new Map(waiting.map((request, position) => [request, outcomes[position]]));
    return requests.map(
      (request) => byRequest.get(request) ?? { error: new AppError("UNAVAILABLE", "The edge no longer waits for this lease.") },
    );
  }

  /** In one commit; where a transaction may not write all slots, in one for each slot, at the same time. */
  async #grantAll(inputs: readonly LeaseInput[]): Promise<Outcome<LeaseGrant>[]> {
    const { store } = this.#options;
    if (store.slotsPerTransaction === store.slots) return this.#grantTogether(inputs);
    return inSlots(inputs, store.slots, (ofSlot) => this.#grantTogether(ofSlot));
  }

  /** Requests of a slot that this control plane does not own, or just lost, are refused with `NotOwner`; the others are granted. */
  async #grantTogether(inputs: readonly LeaseInput[]): Promise<Outcome<LeaseGrant>[]> {
    const { store } = this.#options;
    const slots = inputs.map(({ organizationId }) => slotOf(organizationId, store.slots));
    const lost = new Set(slots.filter((slot) => !store.owns(slot)));
    for (;;) {
      const owned = inputs.filter((_, position) => !lost.has(slots[position] ?? -1));
      try {
        const grants = await this.#commit(owned);
        return inputs.map((_, position) => {
          const slot = slots[position] ?? -1;
          return lost.has(slot) ? { error: new NotOwner(slot) } : { answer: grants.shift() as LeaseGrant };
        });
      } catch (error) {
        if (!(error instanceof NotOwner) || lost.has(error.slot)) throw error;
        lost.add(error.slot);
      }
    }
  }

  async #commit(inputs: readonly LeaseInput[]): Promise<LeaseGrant[]> {
    if (inputs.length === 0) return [];
    const { store, clock, reservations } = this.#options;
    const scopes = new Set(inputs.map(({ organizationId }) => organizationScope(store, organizationId)));
    return store.transaction([...scopes], (tx) =>
      grantLeases(tx, inputs, { heldOf: (organizationId) => reservations.reservedOf(organizationId), now: clock.now() }),
    );
  }

  #answer({ need }: LeaseInput, { lease, balance, amount }: LeaseGrant): LeaseAnswer {
    this.#figures[amount > 0n ? "granted" : need > 0n ? "refused" : "unchanged"]++;
    const { generation, granted } = lease ?? NO_LEASE;
    return { generation, granted, lifeMs: LEASE_USE_MS, isStrict: this.#options.policy === "strict", isBlocked: balance < 0n };
  }
}

/** The outcomes of requests that are answered slot by slot, in their order. A slot that fails is not the failure of another. */
async function inSlots(
  inputs: readonly LeaseInput[],
  slots: number,
  grant: (ofSlot: readonly LeaseInput[]) => Promise<Outcome<LeaseGrant>[]>,
): Promise<Outcome<LeaseGrant>[]> {
  const bySlot = [...Map.groupBy(inputs, ({ organizationId }) => slotOf(organizationId, slots)).values()];
  const answers = await Promise.allSettled(bySlot.map(grant));
  const outcomes = new Map<LeaseInput, Outcome<LeaseGrant>>();
  for (const [group, answer] of answers.entries()) {
    bySlot[group]?.forEach((input, position) => {
      const outcome = answer.status === "fulfilled" ? answer.value[position] : { error: answer.reason as unknown };
      if (outcome) outcomes.set(input, outcome);
    });
  }
  return inputs.map((input) => outcomes.get(input) ?? { error: new Error("a slot has no outcome for one of its requests") });
}

/** The call got less credit than it needs, the organization is not blocked, and credit held elsewhere may have been returned. */
function isWaitWorthwhile({ need }: LeaseInput, { amount, balance, elsewhere }: LeaseGrant): boolean {
  return amount < need && balance >= 0n && elsewhere > 0n;
}
