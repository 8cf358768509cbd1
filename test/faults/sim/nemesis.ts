import { ControlCore, killControl } from "./control-core.ts";
import type { EdgeSlot } from "./edge-slot.ts";
import type { PlannedFault } from "./plan.ts";
import type { SimProcess } from "./sim-process.ts";
import type { World } from "./world.ts";

const BUY_AGAIN_MS = 100;

/** Makes a planned fault happen. */
export function strike(world: World, fault: PlannedFault): void {
  if ("slot" in fault) strikeEdge(world, fault);
  else if (fault.type === "trap") world.arm(fault);
  else if (fault.type === "buy") buy(world, fault);
  else if (fault.type === "stop control") stopControl(world, fault.forMs);
  else if (world.control) {
    world.hit("kill of the control plane");
    killControl(world, world.control);
  }
}

/** All faults are over: what was stopped goes on, what was cut off is joined again, what is dead comes back. */
export function makePeace(world: World): void {
  world.calm = true;
  world.saw("peace");
  world.control ??= new ControlCore(world);
  world.control.process.goOn();
  for (const slot of world.slots) {
    slot.isCutOff = false;
    slot.setCapacity(false);
    slot.life?.process.goOn();
  }
}

type EdgeFault = Extract<PlannedFault, { slot: number }>;

const EDGE_FAULT_NAMES: Readonly<Partial<Record<EdgeFault["type"], string>>> = {
  kill: "kill of an edge",
  power: "power cut at an edge",
  stop: "SIGSTOP of an edge",
  "cut off": "an edge is cut off",
  "disk full": "a disk is full",
};

function strikeEdge(world: World, fault: EdgeFault): void {
  const slot = world.slots[fault.slot];
  const life = slot?.life;
  if (!slot || !life) return;
  slot.hadTrouble = true;
  const name = EDGE_FAULT_NAMES[fault.type];
  if (name !== undefined) world.hit(name);
  if ("forMs" in fault) troubleEdge(world, { slot, process: life.process, fault });
  else if (fault.type === "terminate") void slot.terminate();
  else slot.die({ process: life.process, how: fault.type });
}

function troubleEdge(
  world: World,
  { slot, process, fault }: { slot: EdgeSlot; process: SimProcess; fault: Extract<EdgeFault, { forMs: number }> },
): void {
  if (fault.type === "disk full") {
    fillDisk(world, slot, fault.forMs);
  } else if (fault.type === "stop") {
    process.stop();
    world.time.after(fault.forMs, () => process.goOn());
  } else {
    slot.isCutOff = true;
    world.time.after(fault.forMs, () => {
      slot.isCutOff = false;
    });
  }
}

function fillDisk(world: World, slot: EdgeSlot, forMs: number): void {
  slot.setCapacity(true);
  // What runs or begins meanwhile may be written down late, or not at all if its process dies too.
  const mark = () => {
    for (const call of world.calls.values()) if (!call.acknowledged && call.edgeId.startsWith(`${slot.name}.`)) call.troubled = true;
  };
  mark();
  world.time.after(forMs, () => {
    mark();
    slot.setCapacity(false);
  });
}

function stopControl(world: World, forMs: number): void {
  const { control } = world;
  if (!control) return;
  world.hit("SIGSTOP of the control plane");
  control.process.stop();
  world.time.after(forMs, () => control.process.goOn());
}

/** Tried until it is acknowledged, under one reference, as a payment provider does. */
function buy(world: World, { organizationId, amount, atMs }: Extract<PlannedFault, { type: "buy" }>): void {
  const reference = `pur_${organizationId}_${atMs}`;
  world.bought.set(organizationId, (world.bought.get(organizationId) ?? 0n) + amount);
  const attempt = () => {
    const { control } = world;
    if (!control) return void world.time.after(BUY_AGAIN_MS, attempt);
    const again = () => void world.time.after(BUY_AGAIN_MS, attempt);
    const watch = world.time.after(30_000, () => {
      if (!control.process.alive) again();
    });
    control.buy(organizationId, amount, reference).then(watch, () => {
      watch();
      again();
    });
  };
  attempt();
}
