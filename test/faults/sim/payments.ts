import { asAppError } from "../../../common/errors.ts";
import { slotOf } from "../../../common/slots.ts";
import { withheldPayment } from "../../../control-plane/credit/withheld-payment.ts";
import { organizationAccount } from "../../../control-plane/domain/ledger.ts";
import type { Federation, TrainingRound } from "../../../control-plane/domain/training-records.ts";
import { federationScope, organizationScope } from "../../../control-plane/stores/scopes.ts";
import { post } from "../../../control-plane/writes/ledger.ts";
import { fundRound, payRewards } from "../../../control-plane/writes/round-money.ts";
import type { ControlCore } from "./control-core.ts";
import type { World } from "./world.ts";

const AGAIN_MS = 100;
const GONE_MS = 30_000;

/** Credit that an organization buys. */
export interface Purchase {
  readonly organizationId: string;
  readonly amount: bigint;
  readonly reference: string;
}

/** What one organization pays another one, as the reward of a training round. */
export interface Reward {
  readonly from: string;
  readonly to: string;
  readonly amount: bigint;
  readonly federationId: string;
}

/** Buys until it is acknowledged, under one reference, as a payment provider does. */
export function buy(world: World, purchase: Purchase): void {
  world.bought.set(purchase.organizationId, (world.bought.get(purchase.organizationId) ?? 0n) + purchase.amount);
  untilDone(world, purchase.organizationId, (core) => buyAt(core, purchase));
}

/** Pays until it is acknowledged or refused for want of credit, as a coordinator does. */
export function pay(world: World, reward: Reward): void {
  const payment = { ...reward, isPaid: false };
  world.payments.push(payment);
  untilDone(world, reward.from, async (core) => {
    payment.isPaid = await payAt(core, reward);
    world.hit(payment.isPaid ? "an organization pays another" : "a payment is refused");
  });
}

/** As a customer buys: once for its reference, however often it is tried. */
export async function buyAt({ store, process }: ControlCore, { organizationId, amount, reference }: Purchase): Promise<void> {
  const to = organizationAccount(organizationId);
  const transfer = { type: "purchase" as const, organizationId, from: "purchases", to, amount, reference };
  await onceOnly(store.transaction(organizationScope(store, organizationId), (tx) => post(tx, transfer, process.clock.now())));
}

/** The round is funded and paid out in one transaction. Returns whether there was credit for it. */
async function payAt({ store, process, reservations }: ControlCore, { from, to, amount, federationId }: Reward): Promise<boolean> {
  const participants = [{ id: "participant", organizationId: to }];
  const federation = { id: federationId, organizationId: from, budgetNanoUsd: amount, eventSeq: 0, participants } as unknown as Federation;
  const round = { round: 1, budgetNanoUsd: amount } as unknown as TrainingRound;
  const work = withheldPayment(reservations, (withhold) =>
    store.transaction([federationScope(federationId), organizationScope(store, from)], async (tx) => {
      const now = process.clock.now();
      await fundRound(tx, { federation, round: 1, reserved: withhold(from, amount) }, now);
      await payRewards(tx, { federation, round, shares: new Map([["participant", amount]]) }, now);
    }),
  );
  try {
    await onceOnly(work);
    return true;
  } catch (thrown) {
    if (asAppError(thrown).code === "QUOTA_EXCEEDED") return await isPaidBefore(store, federationId);
    throw thrown;
  }
}

/** An earlier try may have been committed without an answer; what it took is missing now. */
async function isPaidBefore(store: ControlCore["store"], federationId: string): Promise<boolean> {
  return (await store.find("ledger", "byReference", [`round:${federationId}/1:0`])) !== undefined;
}

async function onceOnly(work: Promise<unknown>): Promise<void> {
  await work.catch((error: unknown) => {
    if (asAppError(error).code !== "ALREADY_EXISTS") throw error;
  });
}

/** Tries at the owner of the organization, or at any control plane, until it is done. */
function untilDone(world: World, organizationId: string, work: (core: ControlCore) => Promise<void>): void {
  const again = () => void world.time.after(AGAIN_MS, attempt);
  const attempt = () => {
    const core = ownerOf(world, organizationId);
    if (!core) return again();
    const cancel = world.time.after(GONE_MS, () => {
      if (!core.process.alive) again();
    });
    core.process.enter(() => {
      work(core).then(cancel, () => {
        cancel();
        again();
      });
    });
  };
  attempt();
}

/** The control plane that owns an organization, as the store knows it. */
export function ownerOf(world: World, organizationId: string): ControlCore | undefined {
  const serving = world.planes.flatMap(({ core }) => (core?.isServing ? [core] : []));
  if (!world.isShared) return serving[0];
  const owner = world.owners.get(slotOf(organizationId, world.plan.slots))?.owner;
  return serving.find(({ process }) => process.name === owner);
}
