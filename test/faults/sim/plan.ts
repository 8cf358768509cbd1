import type { JournalSync } from "../../../gateway-edge/credit/journal/writer.ts";
import { type Chance, chance } from "../chance.ts";
import { costOf } from "./call-record.ts";
import { CONTROL_POINTS, EDGE_POINTS, POWER_POINTS } from "./fault-points.ts";
import { PARTITIONS, type Partition } from "./partitions.ts";
import type { Trap } from "./world.ts";

export interface PlannedCall {
  readonly atMs: number;
  readonly organizationId: string;
  readonly maxTokens: number;
  /** How many the model has to say. */
  readonly tokens: number;
  readonly stream: boolean;
  readonly isLimited: boolean;
  readonly ends: "success" | "cancelled" | "error";
  /** Between two pieces of a stream, or until a whole answer comes. */
  readonly stepMs: number;
}

export type PlannedFault = { readonly atMs: number } & (
  | ({ readonly type: "trap" } & Trap)
  | { readonly type: "kill" | "power" | "terminate"; readonly slot: number }
  | { readonly type: "stop" | "cut off" | "disk full"; readonly slot: number; readonly forMs: number }
  | (StruckPlane & { readonly type: "kill plane" | "terminate plane" })
  | (StruckPlane & { readonly type: "stop plane"; readonly forMs: number })
  | (StruckPlane & { readonly type: "plane trap"; readonly point: string; readonly how: "kill" | "stop"; readonly forMs: number })
  | (StruckPlane & { readonly type: "partition"; readonly name: Partition; readonly forMs: number })
  | { readonly type: "buy"; readonly organizationId: string; readonly amount: bigint }
  | { readonly type: "pay"; readonly from: string; readonly to: string; readonly amount: bigint }
);

/** A control plane by its number, or the one that owns an organization when it happens. */
interface StruckPlane {
  readonly plane: number;
  readonly ownerOf: string | undefined;
}

export interface PlannedOrganization {
  readonly id: string;
  readonly credit: bigint;
  /** Requests per minute of its team; then control planes reserve each of its calls. */
  readonly rpm: number | undefined;
}

/** All that a seed decides beforehand. */
export interface Plan {
  readonly seed: number;
  /** Control planes; with several, they share the store. */
  readonly planes: number;
  readonly slots: number;
  readonly edges: readonly JournalSync[];
  readonly organizations: readonly PlannedOrganization[];
  readonly policy: "document" | "strict";
  readonly calls: readonly PlannedCall[];
  readonly faults: readonly PlannedFault[];
  readonly networkLoses: number;
  readonly networkRepeats: number;
  readonly networkSlow: number;
  readonly storeFails: number;
  readonly storeUnsure: number;
  readonly storeSlow: number;
  readonly lastMs: number;
}

type Temper = "quiet" | "deaths" | "network" | "planes" | "everything";

const EVERYTHING: readonly Temper[] = ["everything", "everything"];
const MOSTLY_PLANES: readonly Temper[] = ["planes", "planes", "everything"];
const PLANES = 3;
/** Enough that each of three organizations has its own. */
const SLOTS = 8;

/** The dice are thrown in one order, so that a seed means the same for ever within one version of this file. */
export function planOf(seed: number): Plan {
  const dice = chance(seed);
  const isShared = dice.happens(0.75);
  const temper = dice.pick<Temper>(
    isShared ? ["quiet", "deaths", "network", ...MOSTLY_PLANES] : ["quiet", "deaths", "network", ...EVERYTHING],
  );
  const edges = Array.from({ length: dice.between(1, isShared ? 3 : 4) }, () => dice.pick<JournalSync>(["process", "disk"]));
  const organizations = Array.from({ length: dice.between(1, isShared ? 3 : 2) }, (_, index) => {
    return { id: `org_${index}`, credit: creditOf(dice), rpm: dice.happens(0.3) ? dice.between(2, 6) : undefined };
  });
  const calls = planCalls(dice, organizations, isShared);
  const lastMs = Math.max(...calls.map(({ atMs }) => atMs));
  const bad = temper === "network" || temper === "everything";
  return {
    seed,
    planes: isShared ? PLANES : 1,
    slots: isShared ? SLOTS : 1,
    edges,
    organizations,
    policy: dice.happens(0.25) ? "strict" : "document",
    calls,
    faults: [
      ...planFaults(dice, { temper, edges, calls, planes: isShared ? PLANES : 1 }),
      ...planPurchases(dice, organizations, lastMs),
      ...planRewards(dice, organizations, lastMs),
    ],
    networkLoses: bad ? dice.pick([0, 0.02, 0.1]) : 0,
    networkRepeats: bad ? dice.pick([0, 0.05, 0.2]) : 0,
    networkSlow: bad ? dice.pick([0, 0.05, 0.2]) : 0,
    storeFails: bad ? dice.pick([0, 0.05]) : 0,
    storeUnsure: bad ? dice.pick([0, 0.05]) : 0,
    storeSlow: bad ? dice.pick([0, 0.03]) : 0,
    lastMs,
  };
}

/** Next to nothing, enough for a few calls, plenty, or more than a double can count. */
function creditOf(dice: Chance): bigint {
  const kind = dice.pick(["scarce", "scarce", "some", "plenty", "vast"]);
  const few = BigInt(dice.between(1, 40_000));
  if (kind === "scarce") return few * 10n;
  if (kind === "some") return few * 100n;
  return kind === "plenty" ? 1_000_000_000n + few : 9_007_199_254_740_993n + few;
}

function planCalls(dice: Chance, organizations: readonly PlannedOrganization[], isShared: boolean): PlannedCall[] {
  const calls: PlannedCall[] = [];
  let atMs = 100;
  for (let burst = dice.between(2, 4); burst > 0; burst--) {
    const gapMs = dice.pick(isShared ? [2, 200, 1000, 1000] : [2, 20, 200]);
    for (let count = dice.between(4, 14); count > 0; count--) {
      calls.push(planCall(dice, atMs, organizations));
      atMs += dice.below(gapMs * 2);
    }
    // Long enough, now and then, for a lease to run out at one end and not yet at the other.
    atMs += dice.happens(0.4) ? dice.between(30_000, 70_000) : dice.between(100, 3000);
  }
  return calls;
}

function planCall(dice: Chance, atMs: number, organizations: readonly PlannedOrganization[]): PlannedCall {
  const { id, rpm } = dice.pick(organizations);
  const isAlone = dice.happens(0.12);
  const maxTokens = dice.pick([16, 64, 200]);
  // Now and then an upstream counts more than it was allowed.
  const tokens = dice.happens(0.03) ? maxTokens + dice.between(1, 8) : dice.between(1, maxTokens);
  return {
    atMs,
    organizationId: id,
    maxTokens,
    tokens,
    stream: dice.happens(0.7),
    isLimited: isAlone || rpm !== undefined,
    ends: dice.pick(["success", "success", "success", "success", "cancelled", "error"]),
    stepMs: dice.pick([1, 10, 60, 300]),
  };
}

function planFaults(
  dice: Chance,
  { temper, edges, calls, planes }: Pick<Plan, "edges" | "calls" | "planes"> & { temper: Temper },
): PlannedFault[] {
  if (temper === "quiet") return [];
  const kinds = FAULT_KINDS[temper];
  return Array.from({ length: dice.between(1, 7) }, () => {
    // Where something goes on: a fault in a pause proves little.
    const { atMs: callMs, organizationId } = dice.pick(calls);
    const atMs = Math.max(0, callMs + dice.between(-30, 150));
    const slot = dice.below(edges.length);
    const kind = dice.pick(kinds);
    if (kind !== "control" && kind !== "partition") return planFault(dice, { kind, atMs, slot, sync: edges[slot] ?? "process" });
    // Most of them strike the owner of an organization that is being called.
    const struck = { atMs, plane: dice.below(planes), ownerOf: dice.happens(0.7) ? organizationId : undefined };
    return kind === "partition" && planes > 1 ? planPartition(dice, struck) : planPlaneFault(dice, struck);
  });
}

type FaultKind = "trap" | "control" | "partition" | "plain" | "network";
const FAULT_KINDS: Readonly<Record<Exclude<Temper, "quiet">, readonly FaultKind[]>> = {
  deaths: ["trap", "trap", "trap", "control", "plain", "plain"],
  network: ["network", "partition"],
  planes: ["control", "partition"],
  everything: ["trap", "trap", "trap", "control", "partition", "plain", "network"],
};

function planFault(
  dice: Chance,
  { kind, atMs, slot, sync }: { kind: Exclude<FaultKind, "control" | "partition">; atMs: number; slot: number; sync: JournalSync },
): PlannedFault {
  switch (kind) {
    case "trap":
      return { atMs, type: "trap", ...planTrap(dice, slot, sync) };
    case "plain":
      return { atMs, type: sync === "disk" && dice.happens(0.5) ? "power" : dice.pick(["kill", "terminate"]), slot };
    case "network":
      return { atMs, type: dice.pick(["stop", "cut off", "disk full"]), slot, forMs: dice.pick([200, 2000, 10_000, 70_000]) };
  }
}

function planTrap(dice: Chance, slot: number, sync: JournalSync): Trap {
  const process = `edge-${slot}`;
  if (sync === "process") return { process, how: "kill", point: dice.pick(EDGE_POINTS) };
  if (dice.happens(0.1)) return { process, how: "fail", point: "datasync" };
  return dice.happens(0.6)
    ? { process, how: "power", point: dice.pick(POWER_POINTS) }
    : { process, how: "kill", point: dice.pick(EDGE_POINTS) };
}

function planPlaneFault(dice: Chance, struck: StruckPlane & { readonly atMs: number }): PlannedFault {
  const type = dice.pick(["plane trap", "plane trap", "plane trap", "kill plane", "terminate plane", "stop plane"] as const);
  // Longer than others wait before they take its slots, but for one.
  const forMs = dice.pick([500, 9000, 15_000, 30_000]);
  if (type === "plane trap") return { ...struck, type, point: dice.pick(CONTROL_POINTS), how: dice.pick(["kill", "stop", "stop"]), forMs };
  return type === "stop plane" ? { ...struck, type, forMs } : { ...struck, type };
}

function planPartition(dice: Chance, struck: StruckPlane & { readonly atMs: number }): PlannedFault {
  return { ...struck, type: "partition", name: dice.pick(PARTITIONS), forMs: dice.pick([2000, 7000, 20_000, 75_000]) };
}

function planPurchases(dice: Chance, organizations: Plan["organizations"], lastMs: number): PlannedFault[] {
  return organizations.flatMap(({ id }): PlannedFault[] =>
    dice.happens(0.4) ? [{ atMs: dice.below(lastMs), type: "buy", organizationId: id, amount: costOf(dice.between(1, 500)) }] : [],
  );
}

/** Organizations pay others now and then, up to more than they have. */
function planRewards(dice: Chance, organizations: Plan["organizations"], lastMs: number): PlannedFault[] {
  return organizations.flatMap(({ id: from }, index): PlannedFault[] => {
    const { id: to } = organizations[(index + 1) % organizations.length] ?? { id: from };
    const count = to === from ? 0 : dice.below(4);
    return Array.from({ length: count }, () => ({ atMs: dice.below(lastMs), type: "pay", from, to, amount: costOf(dice.between(1, 300)) }));
  });
}
