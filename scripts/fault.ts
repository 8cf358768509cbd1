/**
 * `make fault`: tries to break billing. A simulation of ten thousand seeds, a power cut at every step of a script, kills of real processes, the last cent, a full
 * disk, a replica set without its primary. Prints a line per invariant; fails if one is broken, or if a fault never occurred.
 * SEED=n runs and prints one seed of the simulation; ONLY=simulation,power,storm,cent,disk,mongo selects layers; SEEDS and STRIKES shorten.
 */

import { faultPowerCut } from "./fault/power-cut.ts";
import { seconds } from "./fault/print-line.ts";
import { faultFullDisk, faultLastCent, faultPrimary, faultStorm } from "./fault/processes.ts";
import { faultSimulation, replaySeed } from "./fault/simulation.ts";

const SEEDS = Number(process.env["SEEDS"] ?? 10_000);
const STRIKES = Number(process.env["STRIKES"] ?? 200);
/** Most seeds have three control planes, which beat each second; the number of seeds is what counts. */
const SIMULATION_MS = 900_000;
/** Two hundred strikes take about 300 s on two cores; the number of strikes is what counts. */
const STORM_MS = 420_000;

const layers: Readonly<Record<string, () => Promise<void>>> = {
  simulation: () => faultSimulation({ seeds: SEEDS, budgetMs: SIMULATION_MS }),
  power: faultPowerCut,
  storm: () => faultStorm({ seed: stormSeed(), strikes: STRIKES, budgetMs: STORM_MS }),
  cent: faultLastCent,
  disk: faultFullDisk,
  mongo: faultPrimary,
};

const startedMs = performance.now();
const { SEED, ONLY } = process.env;
if (SEED !== undefined) await replaySeed(Number(SEED));
else for (const name of ONLY?.split(",") ?? Object.keys(layers)) await layers[name]?.();
console.log(`fault: ${process.exitCode ? "BROKEN" : "nothing broken"} in ${seconds(performance.now() - startedMs)}`);

/** The seed decides when the storm kills which process; what the processes do then is not deterministic. */
function stormSeed(): number {
  const seed = Number(process.env["STORM_SEED"] ?? Date.now() % 1_000_000);
  console.log(`storm seed ${seed} (the same blows again with STORM_SEED=${seed})`);
  return seed;
}
