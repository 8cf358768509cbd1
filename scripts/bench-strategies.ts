/**
 * `make bench-strategies`: what strategies are worth, on the digits. Momentum and adaptive rules against FedAvg where participants have few
 * classes each (Dirichlet 0.1), for five seeds; robust rules against a mean where three of ten participants attack. Fails if a row does not
 * hold. `ARGS="seeds=1,2"` or `ARGS=attacks` runs a part of it.
 */
import { silentLogger } from "../common/logger.ts";
import { createRandom } from "../trainer-node/compute/random.ts";
import type { Attack } from "../trainer-node/simulation/attacks.ts";
import { readSimulation } from "../trainer-node/simulation/options.ts";
import { simulate } from "../trainer-node/simulation/simulate.ts";

const ROUNDS = { skewed: 40, attacked: 20 };
const LAST = 10;
const ATTACKERS = new Set(["p1", "p2", "p3"]);
const LEAST = 0.93;
const MOST_OF_MEAN = 0.4;

const SERVER = [
  { name: "fedavg" },
  { name: "fedavgm", momentum: 0.8, lr: 0.5 },
  { name: "fedadam", lr: 0.05 },
  { name: "fedyogi", lr: 0.05 },
];
const ROBUST = [
  { name: "mean" },
  { name: "krum", f: 3 },
  { name: "multi_krum", f: 3 },
  { name: "trimmed_mean", beta: 0.3 },
  { name: "median" },
  { name: "geometric_median" },
  { name: "fltrust", root_participant: 9 },
];

const random = createRandom(7, 1);
const ATTACKS: Readonly<Record<string, Attack>> = {
  "Gaussian updates": (id, { data }) => (ATTACKERS.has(id) ? data.map(() => 3 * random.normal()) : undefined),
  "flipped updates, 10 times as long": (id, { data }, start) =>
    ATTACKERS.has(id) && start
      ? data.map((value, index) => (start.data[index] as number) - 10 * (value - (start.data[index] as number)))
      : undefined,
};

const given = process.argv.slice(2);
const seeds = (given.find((argument) => argument.startsWith("seeds="))?.slice("seeds=".length) ?? "1,2,3,4,5").split(",").map(Number);
const problems: string[] = [];
if (!given.includes("attacks")) for (const seed of seeds) await skewed(seed);
if (!given.some((argument) => argument.startsWith("seeds="))) for (const name of Object.keys(ATTACKS)) await attacked(name);
for (const problem of problems) print(`DOES NOT HOLD: ${problem}`);
process.exitCode = problems.length === 0 ? 0 : 1;

/** Fifty participants, five a round. */
async function skewed(seed: number): Promise<void> {
  const task = {
    name: "mlp",
    config: { hidden: [32], epochs: 5, batch_size: 10, lr: 0.1 },
    dataset: { name: "digits", partition: { scheme: "dirichlet", alpha: 0.1, seed } },
  };
  const reached = new Map<string, number>();
  for (const strategy of SERVER) {
    const rounds = await accuracies({ clients: 50, fraction: 0.1, rounds: ROUNDS.skewed, seed, task, strategy });
    reached.set(strategy.name, rounds.slice(-LAST).reduce((sum, accuracy) => sum + accuracy, 0) / LAST);
  }
  const plain = reached.get("fedavg") ?? 0;
  print(`Dirichlet(0.1), seed ${seed}: ${[...reached].map(([name, accuracy]) => `${name} ${accuracy.toFixed(3)}`).join("  ")}`);
  for (const [name, accuracy] of reached) {
    if (name !== "fedavg" && accuracy <= plain) problems.push(`${name} above fedavg for seed ${seed}`);
  }
}

async function attacked(name: string): Promise<void> {
  const task = {
    name: "mlp",
    config: { hidden: [128], epochs: 2, batch_size: 10, lr: 0.05 },
    dataset: { name: "digits", partition: { scheme: "iid" } },
  };
  for (const strategy of ROBUST) {
    const settings = { clients: 10, rounds: ROUNDS.attacked, initial: { participant: 9 }, task, strategy };
    const accuracy = (await accuracies(settings, ATTACKS[name])).at(-1) ?? 0;
    print(`${name}, 3 of 10: ${strategy.name.padEnd(16)} ${accuracy.toFixed(3)}`);
    const holds = strategy.name === "mean" ? accuracy < MOST_OF_MEAN : accuracy >= LEAST;
    if (!holds) problems.push(`${strategy.name} under ${name}: ${accuracy.toFixed(3)}`);
  }
}

async function accuracies(settings: object, attack?: Attack): Promise<number[]> {
  const rounds = await simulate(readSimulation({ threads: 1, ...settings }), {
    logger: silentLogger,
    signal: new AbortController().signal,
    onRound: () => {},
    attack,
  });
  return rounds.map(({ accuracy }) => accuracy ?? 0);
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
