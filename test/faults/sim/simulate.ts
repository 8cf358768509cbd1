import type { Team } from "../../../control-plane/domain/records.ts";
import { teamOf } from "./call-record.ts";
import { EdgeSlot } from "./edge-slot.ts";
import type { Mutant } from "./mutant.ts";
import { makePeace, strike } from "./nemesis.ts";
import { judge, judgeReturns, type Violation } from "./oracle.ts";
import { buyAt, ownerOf } from "./payments.ts";
import { planOf } from "./plan.ts";
import { PlaneSlot } from "./plane-slot.ts";
import { playCall } from "./play-call.ts";
import { World } from "./world.ts";

export interface Outcome {
  readonly seed: number;
  /** Of everything that happened, in its order. */
  readonly hash: string;
  readonly events: number;
  readonly violations: readonly Violation[];
  readonly hits: ReadonlyMap<string, number>;
  readonly calls: number;
  readonly admitted: number;
  readonly cut: number;
  readonly worst: { readonly overspentNano: bigint; readonly unbilledNano: bigint };
  readonly lines: readonly string[];
}

/** Long enough for calls to end, for batches to be tried again and for leases to be given back. */
const ENDING_MS = 25_000;
/** Long enough for control planes to divide the slots. */
const STARTING_MS = 3_000;
/** Longer than a lease lives. */
const EXPIRY_MS = 62_000;

/** Plays one seed from its first call until everything is quiet, and holds the books against what was seen. */
export async function simulate(seed: number, options: { mutant?: Mutant; trace?: boolean } = {}): Promise<Outcome> {
  const undo = options.mutant?.patch?.();
  try {
    return await play(new World(planOf(seed), options));
  } finally {
    undo?.();
  }
}

async function play(world: World): Promise<Outcome> {
  const { plan, time } = world;
  for (let index = 0; index < plan.planes; index++) world.planes.push(new PlaneSlot(world, `plane-${index}`));
  world.calm = true;
  for (const plane of world.planes) plane.start();
  await time.advance(STARTING_MS);
  await fund(world);
  world.calm = false;
  plan.edges.forEach((sync, index) => void world.slots.push(new EdgeSlot(world, { name: `edge-${index}`, sync })));
  await Promise.all(world.slots.map((slot) => slot.start()));
  plan.calls.forEach((call, index) => void time.after(call.atMs, () => playCall(world, call, index)));
  for (const fault of plan.faults) time.after(fault.atMs, () => strike(world, fault));
  await time.advance(plan.lastMs + 5000);
  makePeace(world);
  // The process that is away longest comes back after a minute and a half.
  const isAway = () => world.slots.some(({ life }) => !life) || world.planes.some(({ core }) => !core);
  for (let waited = 0; waited < 4 && isAway(); waited++) await time.advance(ENDING_MS);
  await time.advance(ENDING_MS);
  const early = judgeReturns(world);
  await time.advance(EXPIRY_MS);
  const violations = [...early, ...(await judge(world))];
  const calls = [...world.calls.values()];
  return {
    seed: plan.seed,
    hash: world.hash(),
    events: world.events,
    violations,
    hits: world.hits,
    calls: calls.length,
    admitted: calls.filter(({ admitted }) => admitted).length,
    cut: calls.filter(({ cutBy, admitted }) => admitted && cutBy !== undefined).length,
    worst: world.worst,
    lines: world.lines ?? [],
  };
}

/** Each organization has one team and what it bought first. */
async function fund(world: World): Promise<void> {
  const { plan, time } = world;
  for (const { id, credit, rpm } of plan.organizations) {
    const limits = rpm === undefined ? {} : { rpm };
    const team: Team = { id: teamOf(id), name: id, nameKey: id, organizationId: id, createdAt: 1, updatedAt: 1, ...limits };
    world.tables.of("teams").set(team.id, team);
    const core = ownerOf(world, id);
    if (!core) throw new Error(`no owner of ${id}`);
    const bought = buyAt(core, { organizationId: id, amount: credit, reference: `pur_first_${id}` });
    await time.advance(10);
    await bought;
  }
}
