import type { EdgeSlot } from "./edge-slot.ts";
import { between, type Link } from "./links.ts";
import { partitionOf } from "./partitions.ts";
import { buy, ownerOf, pay } from "./payments.ts";
import type { PlannedFault } from "./plan.ts";
import type { PlaneSlot } from "./plane-slot.ts";
import type { SimProcess } from "./sim-process.ts";
import type { World } from "./world.ts";

/** Makes a planned fault happen. */
export function strike(world: World, fault: PlannedFault): void {
  if ("slot" in fault) strikeEdge(world, fault);
  else if ("plane" in fault) strikePlane(world, fault);
  else if (fault.type === "trap") world.arm(fault);
  else if (fault.type === "buy") buy(world, { ...fault, reference: `pur_${fault.organizationId}_${fault.atMs}` });
  else pay(world, { ...fault, federationId: `fed_${fault.from}_${fault.atMs}` });
}

/** All faults are over: what was stopped goes on, what was cut off is joined again, what is dead comes back. */
export function makePeace(world: World): void {
  world.calm = true;
  world.saw("peace");
  world.links.joinAll();
  for (const plane of world.planes) {
    plane.start();
    plane.core?.process.goOn();
  }
  for (const slot of world.slots) {
    slot.setCapacity(false);
    slot.life?.process.goOn();
  }
}

type PlaneFault = Extract<PlannedFault, { plane: number }>;

/** Strikes the owner of an organization, or a control plane by its number. */
function strikePlane(world: World, fault: PlaneFault): void {
  const owner = fault.ownerOf === undefined ? undefined : ownerOf(world, fault.ownerOf);
  const plane = world.planes.find(({ core }) => owner !== undefined && core === owner) ?? world.planes[fault.plane];
  if (!plane) return;
  // Nothing can be said of how soon leases come back.
  for (const slot of world.slots) slot.hadTrouble = true;
  if (fault.type === "partition") cut(world, { name: fault.name, links: partitionOf(world, plane, fault.name), forMs: fault.forMs });
  else if (fault.type === "plane trap") world.arm({ process: plane.name, point: fault.point, how: fault.how, forMs: fault.forMs });
  else if (plane.core) strikeCore(world, { plane, core: plane.core, fault });
}

function strikeCore(
  world: World,
  {
    plane,
    core,
    fault,
  }: { plane: PlaneSlot; core: NonNullable<PlaneSlot["core"]>; fault: Exclude<PlaneFault, { type: "partition" | "plane trap" }> },
): void {
  if (fault.type === "terminate plane") {
    void plane.terminate();
    return;
  }
  if (fault.type === "stop plane") {
    world.hit("SIGSTOP of a control plane");
    core.process.stop();
    world.time.after(fault.forMs, () => core.process.goOn());
    return;
  }
  world.hit("kill of a control plane");
  plane.die(core);
}

function cut(world: World, { name, links, forMs }: { name: string; links: readonly Link[]; forMs: number }): void {
  world.hit(name);
  world.time.after(forMs, world.links.cut(links));
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
    const links = world.planes.flatMap(({ name }) => between(slot.name, name));
    world.time.after(fault.forMs, world.links.cut(links));
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
