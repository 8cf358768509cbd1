import { setTimeout as delay } from "node:timers/promises";
import { systemClock } from "../../common/clock.ts";
import { silentLogger } from "../../common/logger.ts";
import { Leases } from "../../control-plane/credit/leases.ts";
import { Reservations } from "../../control-plane/credit/reservations.ts";
import { Settler } from "../../control-plane/credit/settler.ts";
import { organizationAccount } from "../../control-plane/domain/ledger.ts";
import { creditHandlers } from "../../control-plane/services/access/credit.ts";
import type { ControlDeps } from "../../control-plane/services/deps.ts";
import { allSlots } from "../../control-plane/slots/slots.ts";
import type { Store } from "../../control-plane/stores/store.ts";
import { post } from "../../control-plane/writes/ledger.ts";
import { finalOf, intentOf, progressOf, servedOf } from "../../gateway-edge/credit/journal/journal-fixture.ts";
import { LeasedCredit, type LeasedCreditDeps } from "../../gateway-edge/credit/leased-credit.ts";
import { openBenchJournal } from "./journal-figures.ts";

export interface RpcFigures {
  readonly calls: number;
  /** Calls that waited for a response of the control plane before they started. */
  readonly waited: number;
  readonly leases: number;
  readonly batches: number;
}

const WARM_CALLS = 500;
const CREDIT = 10n ** 18n;
/** About the highest price of a thousand tokens of a good model. */
const WORST_CASE = 10_000_000n;

/** Calls at a steady rate through an edge's credit and the handlers of a real control plane; counts every RPC. */
export async function measureRpcs(
  store: Store,
  { folder, calls, callsPerMs }: { folder: string; calls: number; callsPerMs: number },
): Promise<RpcFigures> {
  const { organizationId } = intentOf(0);
  const first = {
    type: "purchase" as const,
    organizationId,
    from: "purchases",
    to: organizationAccount(organizationId),
    amount: CREDIT,
    reference: "pur_rpc",
  };
  await store.transaction("every", (tx) => post(tx, first, systemClock.now()));
  const rpcs = { lease: 0, settle: 0 };
  const journal = await openBenchJournal(folder, "process");
  const credit = new LeasedCredit({
    access: countedAccess(store, rpcs),
    journal,
    clock: systemClock,
    logger: silentLogger,
    edgeId: "bench",
  });
  let waited = 0;
  const one = async (index: number) => {
    const reservation = credit.reserve({ intent: { ...intentOf(index), worstCase: WORST_CASE }, model: "m", tokens: 3, isLimited: false });
    if (reservation instanceof Promise) waited++;
    await reservation;
    credit.served(servedOf(index));
    credit.progress(progressOf(index, 32));
    await credit.settle(finalOf(index));
  };
  await atRate(callsPerMs, { first: 0, count: WARM_CALLS, one });
  const before = { ...rpcs, waited };
  await atRate(callsPerMs, { first: WARM_CALLS, count: calls, one });
  await credit.settled();
  const figures = { calls, waited: waited - before.waited, leases: rpcs.lease - before.lease, batches: rpcs.settle - before.settle };
  await credit.close();
  return figures;
}

function countedAccess(store: Store, rpcs: { lease: number; settle: number }): LeasedCreditDeps["access"] {
  const reservations = new Reservations({ reader: store, clock: systemClock, policy: "document" });
  const settler = new Settler({ store, reservations, clock: systemClock, logger: silentLogger });
  const leases = new Leases({
    store,
    clock: systemClock,
    policy: "document",
    reservations,
    ended: { learn: async () => true, inVain: () => {} },
  });
  const slots = allSlots({ count: store.slots, self: { id: "bench", address: "" } });
  // The credit handlers need only these parts of the control plane.
  const handlers = creditHandlers({ slots, reservations, settler, leases } as unknown as ControlDeps);
  type Context = Parameters<typeof handlers.lease>[1];
  return {
    lease: (request) => {
      rpcs.lease++;
      return handlers.lease(request, {} as Context);
    },
    settle: (request) => {
      rpcs.settle++;
      return handlers.settle(request, {} as Context);
    },
    reserve: () => Promise.reject(new Error("no call of this bench has a limit")),
    reserveMany: () => Promise.reject(new Error("no call of this bench has a limit")),
    release: () => Promise.reject(new Error("no call of this bench has a limit")),
  };
}

async function atRate(
  callsPerMs: number,
  { first, count, one }: { first: number; count: number; one: (index: number) => Promise<void> },
): Promise<void> {
  const running: Promise<void>[] = [];
  const startedMs = performance.now();
  while (running.length < count) {
    const due = Math.min(count, Math.ceil((performance.now() - startedMs) * callsPerMs));
    while (running.length < due) running.push(one(first + running.length));
    await delay(1);
  }
  await Promise.all(running);
}
