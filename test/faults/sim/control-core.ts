import { AppError } from "../../../common/errors.ts";
import { Leases } from "../../../control-plane/credit/leases.ts";
import { Reservations } from "../../../control-plane/credit/reservations.ts";
import { Settler } from "../../../control-plane/credit/settler.ts";
import { organizationAccount } from "../../../control-plane/domain/ledger.ts";
import type { Lease, UsageRow } from "../../../control-plane/domain/records.ts";
import { creditHandlers } from "../../../control-plane/services/access/credit.ts";
import type { ControlDeps } from "../../../control-plane/services/deps.ts";
import { allSlots } from "../../../control-plane/slots/slots.ts";
import type { Write } from "../../../control-plane/stores/overlay.ts";
import type { Store } from "../../../control-plane/stores/store.ts";
import { post } from "../../../control-plane/writes/ledger.ts";
import { memoryStore } from "./memory-store.ts";
import type { CreditHandlers } from "./mutant.ts";
import { SimProcess } from "./sim-process.ts";
import type { World } from "./world.ts";

export const CONTROL = "control plane";
const SWEEP_MS = 20_000;

/** One life of the control plane: its own handlers, settler, leases and reservations over what is committed. */
export class ControlCore {
  readonly process: SimProcess;
  readonly store: Store;
  readonly handlers: CreditHandlers;
  readonly life: number;

  constructor(world: World) {
    this.life = ++world.controlLives;
    this.process = new SimProcess(CONTROL, { time: world.time, onPoint: (point) => onPoint(world, this, point) });
    const { tables, mutant, plan, logger } = world;
    const { clock } = this.process;
    const { reader, apply } = mutant;
    this.store = memoryStore({
      tables,
      ...(reader ? { reader } : {}),
      ...(apply ? { apply } : {}),
      commit: (writes, put) => commit(world, this, { writes, put }),
    });
    const { store } = this;
    const reservations = new Reservations({ reader: store, clock, policy: plan.policy });
    const settler = new Settler({ store, reservations, clock, logger });
    const leases = new Leases({ store, clock, policy: plan.policy, reservations, caughtUp: async () => {} });
    const slots = allSlots({ count: store.slots, self: { id: CONTROL, address: "" } });
    // The handlers of credit need no more than this of what the control plane is made of.
    const handlers: CreditHandlers = creditHandlers({ reservations, settler, leases, slots } as unknown as ControlDeps);
    this.handlers = mutant.handlers?.(handlers, tables, clock.now) ?? handlers;
    void this.#sweep();
    world.saw(`control plane ${this.life} starts`);
  }

  /** As a customer buys: once for its reference, however often it is tried. */
  async buy(organizationId: string, amount: bigint, reference: string): Promise<void> {
    const transfer = {
      type: "purchase" as const,
      organizationId,
      from: "purchases",
      to: organizationAccount(organizationId),
      amount,
      reference,
    };
    try {
      await this.store.transaction("every", (tx) => post(tx, transfer, this.process.clock.now()));
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== "ALREADY_EXISTS") throw error;
    }
  }

  /** Leases that ran out are removed, as the clean-up job does. */
  async #sweep(): Promise<void> {
    for (;;) {
      await this.process.clock.sleep(SWEEP_MS);
      const now = this.process.clock.now();
      await this.store
        .transaction("every", async (tx) => {
          for await (const { id } of tx.scan("leases", { index: "byExpiry", before: now })) await tx.remove("leases", id);
        })
        .catch(() => {});
    }
  }
}

function onPoint(world: World, control: ControlCore, point: string): "die" | "go on" {
  if (world.sprung(CONTROL, point) === undefined) return "go on";
  killControl(world, control);
  return "die";
}

export function killControl(world: World, control: ControlCore): void {
  if (!control.process.alive) return;
  control.process.alive = false;
  world.control = undefined;
  world.saw(`control plane ${control.life} dies`);
  const awayMs = world.chance.happens(0.1) ? world.chance.between(5000, 80_000) : world.chance.between(50, 2000);
  world.time.after(world.calm ? 50 : awayMs, () => {
    world.control ??= new ControlCore(world);
  });
}

/** The moment in which a transaction becomes true, and all that can go wrong around it. */
async function commit(world: World, control: ControlCore, { writes, put }: { writes: readonly Write[]; put: () => void }): Promise<void> {
  const { chance, plan, calm } = world;
  if (writes.length === 0) return;
  const isSlow = !calm && chance.happens(plan.storeSlow);
  await control.process.clock.sleep(isSlow ? chance.between(200, 6000) : chance.below(20) / 10);
  control.process.passes("before commit");
  if (!world.calm && chance.happens(plan.storeFails)) {
    world.hit("a commit fails");
    throw new AppError("DB_TIMEOUT", "The store did not answer in time.");
  }
  const settled = settledNow(world, control, writes);
  noteEnded(world, control, writes);
  put();
  for (const { row, isCovered } of settled) {
    world.saw(`settled ${row.id} ${row.cost}${isCovered ? "" : " late"}`);
    if (!isCovered) world.uncovered.set(row.organizationId, (world.uncovered.get(row.organizationId) ?? 0n) + row.cost);
  }
  control.process.passes("after commit");
  if (!world.calm && chance.happens(plan.storeUnsure)) {
    world.hit("a commit succeeds and seems to fail");
    throw new AppError("DB_TIMEOUT", "The store did not answer in time.");
  }
}

/** Rows that are new, and whether the credit of each was still set aside for it until this moment. */
function settledNow(world: World, control: ControlCore, writes: readonly Write[]): { row: UsageRow; isCovered: boolean }[] {
  const now = control.process.clock.now();
  return writes
    .filter(({ collection, before }) => collection === "usage" && !before)
    .map(({ after }) => {
      const row = after as UsageRow;
      const call = world.calls.get(row.id);
      if (!call) return { row, isCovered: false };
      if (call.isLimited) return { row, isCovered: call.controlLife === control.life };
      const lease = world.tables.of("leases").get(`${call.edgeId}/${row.organizationId}`) as Lease | undefined;
      const isCovered = lease !== undefined && BigInt(lease.generation) === call.generation && lease.expiresAt > now;
      if (row.cost > 0n && world.ended.has(leaseName(`${call.edgeId}/${row.organizationId}`, call.generation)))
        world.endedTooSoon.push(row.id);
      if (!isCovered && row.cost > 0n) world.hit("a settlement after its lease");
      return { row, isCovered };
    });
}

function noteEnded(world: World, control: ControlCore, writes: readonly Write[]): void {
  const now = control.process.clock.now();
  for (const { collection, before, after } of writes) {
    if (collection !== "leases" || !before || !after) continue;
    const [known, ended] = [before as Lease, after as Lease];
    if (ended.generation !== known.generation || ended.expiresAt > now || known.expiresAt <= now) continue;
    world.ended.add(leaseName(known.id, known.generation));
    world.hit("the leases of a dead edge are ended");
  }
}

function leaseName(id: string, generation: bigint | number): string {
  return `${id} ${generation}`;
}
