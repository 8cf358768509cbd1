import type { Federation } from "../../domain/training-records.ts";
import { federationScope, type Scope } from "../../stores/scopes.ts";
import type { Store, Transaction } from "../../stores/store.ts";
import { requireClaim } from "../../writes/federations.ts";
import type { ControlDeps } from "../deps.ts";

/** One transaction on a federation for the coordinator that holds its claim. `scopesOf` is for steps that move money. */
export type Step = <Result>(
  held: { federationId: string; claim: string },
  work: (tx: Transaction, federation: Federation, now: number) => Promise<Result>,
  scopesOf?: (store: Store, federationId: string) => Promise<readonly Scope[]>,
) => Promise<Result>;

/** Creates what runs the steps of coordinators: each checks the claim first. */
export function stepOf({ store, clock }: ControlDeps): Step {
  return async ({ federationId: id, claim }, work, scopesOf) =>
    store.transaction(scopesOf ? await scopesOf(store, id) : federationScope(id), async (tx) => {
      const now = clock.now();
      return work(tx, await requireClaim(tx, { id, claim }), now);
    });
}
