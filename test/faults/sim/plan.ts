import type { JournalSync } from "../../../gateway-edge/credit/journal/writer.ts";
import { type Chance, chance } from "../chance.ts";
import { costOf } from "./call-record.ts";
import { CONTROL } from "./control-core.ts";
import { CONTROL_POINTS, EDGE_POINTS, POWER_POINTS } from "./fault-points.ts";
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
  | { readonly type: "kill control" }
  | { readonly type: "stop control"; readonly forMs: number }
  | { readonly type: "buy"; readonly organizationId: string; readonly amount: bigint }
);

/** All that a seed decides beforehand. */
export interface Plan {
  readonly seed: number;
  readonly edges: readonly JournalSync[];
  readonly organizations: readonly { readonly id: string; readonly credit: bigint }[];
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

type Temper = "quiet" | "deaths" | "network" | "everything";

/** The dice are thrown in one order, so that a seed means the same for ever within one version of this file. */
export function planOf(seed: number): Plan {
  const dice = chance(seed);
  const temper = dice.pick<Temper>(["quiet", "deaths", "network", "everything", "everything"]);
  const edges = Array.from({ length: dice.between(1, 4) }, () => dice.pick<JournalSync>(["process", "disk"]));
  const organizations = Array.from({ length: dice.between(1, 2) }, (_, index) => ({ id: `org_${index}`, credit: creditOf(dice) }));
  const calls = planCalls(
    dice,
    organizations.map(({ id }) => id),
  );
  const lastMs = Math.max(...calls.map(({ atMs }) => atMs));
  const bad = temper === "network" || temper === "everything";
  return {
    seed,
    edges,
    organizations,
    policy: dice.happens(0.25) ? "strict" : "document",
    calls,
    faults: [...planFaults(dice, { temper, edges, calls }), ...planPurchases(dice, organizations, lastMs)],
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

function planCalls(dice: Chance, organizationIds: readonly string[]): PlannedCall[] {
  const calls: PlannedCall[] = [];
  let atMs = 100;
  for (let burst = dice.between(2, 4); burst > 0; burst--) {
    const gapMs = dice.pick([2, 20, 200]);
    for (let count = dice.between(4, 14); count > 0; count--) {
      calls.push(planCall(dice, atMs, organizationIds));
      atMs += dice.below(gapMs * 2);
    }
    // Long enough, now and then, for a lease to run out at one end and not yet at the other.
    atMs += dice.happens(0.4) ? dice.between(30_000, 70_000) : dice.between(100, 3000);
  }
  return calls;
}

function planCall(dice: Chance, atMs: number, organizationIds: readonly string[]): PlannedCall {
  const maxTokens = dice.pick([16, 64, 200]);
  // Now and then an upstream counts more than it was allowed.
  const tokens = dice.happens(0.03) ? maxTokens + dice.between(1, 8) : dice.between(1, maxTokens);
  return {
    atMs,
    organizationId: dice.pick(organizationIds),
    maxTokens,
    tokens,
    stream: dice.happens(0.7),
    isLimited: dice.happens(0.12),
    ends: dice.pick(["success", "success", "success", "success", "cancelled", "error"]),
    stepMs: dice.pick([1, 10, 60, 300]),
  };
}

function planFaults(dice: Chance, { temper, edges, calls }: Pick<Plan, "edges" | "calls"> & { temper: Temper }): PlannedFault[] {
  if (temper === "quiet") return [];
  const kinds = FAULT_KINDS[temper];
  return Array.from({ length: dice.between(1, 7) }, () => {
    // Where something goes on: a fault in a pause proves little.
    const atMs = Math.max(0, dice.pick(calls).atMs + dice.between(-30, 150));
    const slot = dice.below(edges.length);
    return planFault(dice, { kind: dice.pick(kinds), atMs, slot, sync: edges[slot] ?? "process" });
  });
}

type FaultKind = "trap" | "control" | "plain" | "network";
const FAULT_KINDS: Readonly<Record<Exclude<Temper, "quiet">, readonly FaultKind[]>> = {
  deaths: ["trap", "trap", "trap", "control", "plain", "plain"],
  network: ["network"],
  everything: ["trap", "trap", "trap", "control", "plain", "network"],
};

function planFault(
  dice: Chance,
  { kind, atMs, slot, sync }: { kind: FaultKind; atMs: number; slot: number; sync: JournalSync },
): PlannedFault {
  switch (kind) {
    case "trap":
      return { atMs, type: "trap", ...planTrap(dice, slot, sync) };
    case "control":
      return planControlFault(dice, atMs);
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

function planControlFault(dice: Chance, atMs: number): PlannedFault {
  const kind = dice.pick(["trap", "trap", "kill", "stop"]);
  if (kind === "trap") return { atMs, type: "trap", process: CONTROL, how: "kill", point: dice.pick(CONTROL_POINTS) };
  return kind === "kill" ? { atMs, type: "kill control" } : { atMs, type: "stop control", forMs: dice.pick([500, 6000]) };
}

function planPurchases(dice: Chance, organizations: Plan["organizations"], lastMs: number): PlannedFault[] {
  return organizations.flatMap(({ id }): PlannedFault[] =>
    dice.happens(0.4) ? [{ atMs: dice.below(lastMs), type: "buy", organizationId: id, amount: costOf(dice.between(1, 500)) }] : [],
  );
}
