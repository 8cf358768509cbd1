import { AppError } from "../../common/errors.ts";
import { toUsdString } from "../../common/money.ts";
import { organizationAccount } from "../domain/ledger.ts";
import type { Federation, TrainingRound } from "../domain/training-records.ts";
import { federationScope, organizationScope, type Scope } from "../stores/scopes.ts";
import type { Store, Transaction } from "../stores/store.ts";
import { leasedOf } from "./leases.ts";
import { post } from "./ledger.ts";
import { payOut } from "./outbox.ts";

/** Account that holds a round's budget while the round is open. Separate from the organization's, so that statements show both moves. */
const budgetAccount = (federationId: string): string => `training:${federationId}`;

/** The scopes of a step of a federation that may move its budget. Rewards to other slots leave through the outbox. */
export async function budgetScopes(store: Store, federationId: string): Promise<readonly Scope[]> {
  const federation = await store.get("federations", federationId);
  const own = federation ? [organizationScope(store, federation.organizationId)] : [];
  return [federationScope(federationId), ...own];
}

/**
 * Reserves a round's budget from the organization's credit. Reserved and leased credit is not available for it, so that participants are
 * promised only what can be paid.
 */
export async function fundRound(
  tx: Transaction,
  { federation, round, reserved }: { federation: Federation; round: number; reserved: bigint },
  now: number,
): Promise<void> {
  const { organizationId, budgetNanoUsd: amount } = federation;
  if (amount === 0n) return;
  const account = organizationAccount(organizationId);
  const balance = (await tx.get("accounts", account))?.balance ?? 0n;
  const available = balance - reserved - (await leasedOf(tx, organizationId, now));
  if (available < amount) {
    throw new AppError(
      "QUOTA_EXCEEDED",
      `The round's budget is ${toUsdString(amount)} USD and ${toUsdString(available > 0n ? available : 0n)} USD are available. Buy credits; a federation that has failed by then goes on when rounds are added to it (extend).`,
    );
  }
  const reference = `${fundReference(federation.id, round)}:${federation.eventSeq}`;
  await post(tx, { type: "reward", organizationId, from: account, to: budgetAccount(federation.id), amount, reference }, now);
}

/** Pays every participant's organization its share; the shares sum to the reserved budget. */
export async function payRewards(
  tx: Transaction,
  { federation, round, shares }: { federation: Federation; round: TrainingRound; shares: ReadonlyMap<string, bigint> },
  now: number,
): Promise<void> {
  const paid = [...shares.values()].reduce((sum, share) => sum + share, 0n);
  if (paid !== round.budgetNanoUsd) throw new Error(`the shares are ${paid}, the round's budget is ${round.budgetNanoUsd}`);
  for (const { id, organizationId } of federation.participants) {
    const amount = shares.get(id) ?? 0n;
    if (amount === 0n) continue;
    const reference = `${fundReference(federation.id, round.round)}:${id}`;
    const between = { fromOrganizationId: federation.organizationId, toOrganizationId: organizationId };
    await payOut(tx, { type: "reward", ...between, from: budgetAccount(federation.id), amount, reference }, now);
  }
}

/** Returns the budget of a round that is abandoned. */
export async function returnBudget(
  tx: Transaction,
  { federation, round }: { federation: Federation; round: TrainingRound },
  now: number,
): Promise<void> {
  const amount = round.budgetNanoUsd;
  if (amount === 0n) return;
  const { organizationId } = federation;
  const reference = `${fundReference(federation.id, round.round)}:returned:${federation.eventSeq}`;
  const to = organizationAccount(organizationId);
  await post(tx, { type: "reward", organizationId, from: budgetAccount(federation.id), to, amount, reference }, now);
}

const fundReference = (federationId: string, round: number): string => `round:${federationId}/${round}`;
