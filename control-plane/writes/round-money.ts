import { AppError } from "../../common/errors.ts";
import { toUsdString } from "../../common/money.ts";
import { organizationAccount } from "../domain/ledger.ts";
import type { Federation, TrainingRound } from "../domain/training-records.ts";
import type { Transaction } from "../stores/store.ts";
import { leasedOf } from "./leases.ts";
import { post } from "./ledger.ts";

/** Where a round's budget waits between its opening and its end. Not an organisation's: every statement shows what left and what came. */
const budgetAccount = (federationId: string): string => `training:${federationId}`;

/**
 * Sets a round's budget aside from the organisation's credit. Participants are asked only for what can be paid: what calls have
 * reserved or edges have leased is not there to be promised.
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
      `The round's budget is ${toUsdString(amount)} USD and ${toUsdString(available > 0n ? available : 0n)} USD are available. Buy credits, then resume.`,
    );
  }
  const reference = `${fundReference(federation.id, round)}:${federation.eventSeq}`;
  await post(tx, { type: "reward", organizationId, from: account, to: budgetAccount(federation.id), amount, reference }, now);
}

/** Pays every participant's organisation its share; together they are what was set aside. */
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
    const to = organizationAccount(organizationId);
    await post(tx, { type: "reward", organizationId, from: budgetAccount(federation.id), to, amount, reference }, now);
  }
}

/** Gives back what was set aside for a round that nobody will be paid for. */
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
