import { isTransit } from "../../../control-plane/domain/transit.ts";
import type { Grant } from "./note-grants.ts";
import type { Blame } from "./oracle.ts";
import type { World } from "./world.ts";

/** A window has a bucket for each second, so a minute may be shorter by one. */
const MINUTE_MS = 59_000;

/** What an organization got from others less what it paid them. */
export function paidTo({ payments }: World, organizationId: string): bigint {
  return payments.reduce((sum, { from, to, amount, isPaid }) => {
    if (!isPaid) return sum;
    return sum + (to === organizationId ? amount : 0n) - (from === organizationId ? amount : 0n);
  }, 0n);
}

/** When everything is quiet nothing is on its way. */
export function judgePayments({ tables }: World, blame: Blame): void {
  for (const { id } of tables.all("outbox")) blame("I19", `${id} is still on its way`);
  const transit = tables.all("accounts").filter(({ id }) => isTransit(id));
  const sum = transit.reduce((total, { balance }) => total + balance, 0n);
  if (sum !== 0n) blame("I19", `${sum} left one slot and did not arrive in another`);
}

/** Calls that were made, under the owner that the store knew: what another control plane lets through counts too. */
export function judgeRates(world: World, blame: Blame): void {
  for (const { id, rpm } of world.plan.organizations) {
    if (rpm === undefined) continue;
    const made = [...world.grants].filter(([callId, grant]) => grant.organizationId === id && world.calls.get(callId)?.admitted);
    const grants = made.map(([, grant]) => grant);
    for (const [owner, granted] of Map.groupBy(grants, (grant) => grant.owner)) {
      const most = busiest(granted);
      if (most > rpm) blame("I4", `${id} made ${most} calls in a minute under ${owner}, its limit is ${rpm}`);
    }
  }
}

function busiest(grants: readonly Grant[]): number {
  return Math.max(...grants.map(({ atMs }) => grants.filter((other) => other.atMs > atMs - MINUTE_MS && other.atMs <= atMs).length));
}
