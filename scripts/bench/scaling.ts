import type { Extent, Stage } from "./contender.ts";
import { cpuSeconds } from "./cpu.ts";
import { median } from "./median.ts";
import { startTributary, type Tributary } from "./tributary.ts";
import { goalTable, ratioByRound } from "./verdict.ts";
import { window } from "./windows.ts";

/** CPU of one round, in microseconds a call. */
export interface ScalingRound {
  readonly edges: number;
  readonly controlPlane: number;
}

const CALLS = 5000;
/** For each edge. */
const CONNECTIONS = 64;
const SCALED_LEAST = 1.8;
const SHARE_MOST = 0.15;

/**
 * What a call costs one edge and two edges that share a port, in turns. Each edge has a core of its own where there are enough, so two answer as many
 * times the calls of one as their CPU for a call allows; the load generator leaves no two cores for them here.
 */
export async function scalingSection(stage: Stage, { rounds, scale, warm }: Extent): Promise<string> {
  const platforms: Tributary[] = [];
  try {
    for (const edges of [1, 2]) platforms.push(await startTributary(stage, { name: `edges ${edges}`, edges }));
    for (const platform of platforms)
      await window(platform, { stream: false, connections: 32, calls: warm * platform.system.edges.length });
    const figures: ScalingRound[][] = platforms.map(() => []);
    for (let round = 0; round < rounds; round++) {
      for (const [at, platform] of platforms.entries()) figures[at]?.push(await measured(platform, Math.ceil(CALLS * scale)));
    }
    const [one = [], two = []] = figures;
    return [
      "## Two edges",
      "",
      "Whole calls, 64 connections for each edge, CPU of the edges and of their control plane.",
      "",
      scalingTable(one, two),
    ].join("\n");
  } finally {
    await Promise.all(platforms.map((platform) => platform.stop()));
  }
}

/** What two edges take for a call, beside one. */
export function scalingTable(one: readonly ScalingRound[], two: readonly ScalingRound[]): string {
  const of = (rounds: readonly ScalingRound[], name: keyof ScalingRound) => rounds.map((round) => round[name]);
  const dearer = ratioByRound(of(one, "edges"), of(two, "edges"));
  const share = ratioByRound(of(two, "edges"), of(two, "controlPlane"));
  const lines = [one, two].map(
    (rounds, at) => `| ${at + 1} | ${median(of(rounds, "edges")).toFixed(0)} | ${median(of(rounds, "controlPlane")).toFixed(0)} |`,
  );
  return [
    ["| edges | edges, microseconds of CPU for a call | control plane |", "|---|---|---|", ...lines].join("\n"),
    `Two edges on a core each answer ${(2 / dearer).toFixed(2)} times the calls of one.`,
    goalTable([
      { what: "CPU of two edges for a call, over that of one", value: dearer, unit: "×", most: 2 / SCALED_LEAST },
      { what: "CPU of the control plane over that of two edges", value: share, unit: "×", most: SHARE_MOST },
    ]),
  ].join("\n\n");
}

async function measured(platform: Tributary, calls: number): Promise<ScalingRound> {
  const { system } = platform;
  const used = () => ({
    edges: system.edges.reduce((sum, { pid }) => sum + cpuSeconds(pid), 0),
    controlPlane: cpuSeconds(system.controlPlane.pid),
  });
  const before = used();
  const { failed } = await window(platform, { stream: false, connections: CONNECTIONS * system.edges.length, calls });
  if (failed !== undefined) throw new Error(failed);
  const after = used();
  const perCall = (name: keyof ScalingRound) => ((after[name] - before[name]) / calls) * 1e6;
  return { edges: perCall("edges"), controlPlane: perCall("controlPlane") };
}
