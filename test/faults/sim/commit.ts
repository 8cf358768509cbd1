import { AppError } from "../../../common/errors.ts";
import { slotOf } from "../../../common/slots.ts";
import { NotOwner } from "../../../control-plane/domain/not-owner.ts";
import type { Lease, UsageRow } from "../../../control-plane/domain/records.ts";
import type { Write } from "../../../control-plane/stores/overlay.ts";
import { scopeOf, slotOfScope } from "../../../control-plane/stores/scopes.ts";
import type { ControlCore } from "./control-core.ts";
import { grantName } from "./note-grants.ts";
import type { World } from "./world.ts";

/** The moment in which a transaction becomes true, and all that can go wrong around it. */
export async function commit(
  world: World,
  core: ControlCore,
  { writes, put }: { writes: readonly Write[]; put: () => void },
): Promise<void> {
  const { chance, plan, calm } = world;
  const { process, line } = core;
  if (writes.length === 0) return;
  const isSlow = !calm && chance.happens(plan.storeSlow);
  await process.clock.sleep(isSlow ? chance.between(200, 6000) : chance.below(20) / 10);
  const isSettlement = writes.some(({ collection }) => collection === "usage");
  process.passes("before commit");
  if (isSettlement) process.passes("before a settlement");
  await process.resumed();
  if (line.isRequestCut) return line.noAnswer();
  if (!world.calm && chance.happens(plan.storeFails)) {
    world.hit("a commit fails");
    throw new AppError("DB_TIMEOUT", "The store did not answer in time.");
  }
  putNoted(world, core, { writes, put });
  process.passes("after commit");
  if (isSettlement) process.passes("after a settlement");
  await process.resumed();
  if (line.isAnswerCut || (!world.calm && chance.happens(plan.storeUnsure))) {
    world.hit("a commit succeeds and seems to fail");
    throw new AppError("DB_TIMEOUT", "The store did not answer in time.");
  }
}

/** What is seen of a commit is seen in the state before it. */
function putNoted(world: World, core: ControlCore, { writes, put }: { writes: readonly Write[]; put: () => void }): void {
  const settled = settledNow(world, core, writes);
  const ended = endedNow(core, writes);
  try {
    put();
  } catch (thrown) {
    if (thrown instanceof NotOwner) world.hit("a commit under a lost epoch is refused");
    throw thrown;
  }
  noteForeign(world, core, writes);
  for (const lease of ended) {
    world.ended.add(lease);
    world.hit("the leases of a dead edge are ended");
  }
  for (const { row, isCovered, isEnded } of settled) {
    world.saw(`settled ${row.id} ${row.cost}${isCovered ? "" : " late"}`);
    if (isEnded) world.endedTooSoon.push(row.id);
    if (isCovered) continue;
    if (row.cost > 0n && !world.calls.get(row.id)?.isLimited) world.hit("a settlement after its lease");
    world.uncovered.set(row.organizationId, (world.uncovered.get(row.organizationId) ?? 0n) + row.cost);
  }
}

interface Settled {
  readonly row: UsageRow;
  /** Its credit was still set aside for it until this moment. */
  readonly isCovered: boolean;
  /** Its lease was ended before, because nothing was left to be settled under it. */
  readonly isEnded: boolean;
}

/** Rows that are new. */
function settledNow(world: World, core: ControlCore, writes: readonly Write[]): Settled[] {
  const now = core.process.clock.now();
  return writes
    .filter(({ collection, before }) => collection === "usage" && !before)
    .map(({ after }) => {
      const row = after as UsageRow;
      const call = world.calls.get(row.id);
      if (!call) return { row, isCovered: false, isEnded: false };
      const slot = slotOf(row.organizationId, world.plan.slots);
      if (call.isLimited) return { row, isCovered: world.grants.get(row.id)?.name === grantName(core, slot), isEnded: false };
      const lease = world.tables.of("leases").get(`${call.edgeId}/${row.organizationId}`) as Lease | undefined;
      const isCovered = lease !== undefined && BigInt(lease.generation) === call.generation && lease.expiresAt > now;
      const isEnded = row.cost > 0n && world.ended.has(leaseName(`${call.edgeId}/${row.organizationId}`, call.generation));
      return { row, isCovered, isEnded };
    });
}

/** Leases that this commit ends before their time. */
function endedNow(core: ControlCore, writes: readonly Write[]): string[] {
  const now = core.process.clock.now();
  return writes.flatMap(({ collection, before, after }) => {
    if (collection !== "leases" || !before || !after) return [];
    const [known, ended] = [before as Lease, after as Lease];
    const isEnded = ended.generation === known.generation && ended.expiresAt <= now && known.expiresAt > now;
    return isEnded ? [leaseName(known.id, known.generation)] : [];
  });
}

/** Commits in slots that another control plane owns, or that have no owner. */
function noteForeign(world: World, { process }: ControlCore, writes: readonly Write[]): void {
  if (!world.isShared) return;
  for (const { collection, id, before, after } of writes) {
    const scope = scopeOf(collection, (after ?? before) as never, world.plan.slots);
    const slot = scope === "any" ? undefined : slotOfScope(scope);
    if (slot === undefined || world.owners.get(slot)?.owner === process.name) continue;
    world.foreign.push(`${process.name} wrote ${collection} ${id} of the slot ${slot}, whose owner is ${world.owners.get(slot)?.owner}`);
  }
}

function leaseName(id: string, generation: bigint | number): string {
  return `${id} ${generation}`;
}
