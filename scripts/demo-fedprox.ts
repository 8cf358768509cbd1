/**
 * `make demo-fedprox`: synthetic(1,1) of Li et al. 2020 with 90 % stragglers. FedAvg drops them, FedProx takes their partial work and
 * keeps them close to the global model. Thirty devices, ten per round, the same for both; the result is compared with the paper.
 */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { print, printCurve } from "./demo/print-curve.ts";

const ROUNDS = Number(process.argv[2] ?? 60);
const SHOWN = 12;
const LAST = 5;
const entry = join(import.meta.dirname, "../trainer-node/simulation/main.ts");

const settings = {
  clients: 30,
  rounds: ROUNDS,
  fraction: 1 / 3,
  minResults: 1,
  seed: 5,
  task: {
    name: "softmax",
    config: { epochs: 20, batch_size: 10, lr: 0.01 },
    dataset: { synthetic: { alpha: 1, beta: 1, seed: 0 } },
  },
  eval: { mode: "sites" },
};

const dropped = run({ strategy: { name: "fedavg" }, stragglers: { share: 0.9, work: "dropped" } });
const partial = run({ strategy: { name: "fedprox", mu: 1 }, stragglers: { share: 0.9, work: "partial" } });
const [average, proximal] = [await dropped, await partial];
show("FedAvg, stragglers dropped", average);
show("FedProx (mu = 1), stragglers' part taken", proximal);
const [first, second] = [lastOf(average), lastOf(proximal)];
print(
  `mean of the last ${LAST} rounds: FedAvg ${first.toFixed(3)}, FedProx ${second.toFixed(3)}: ${((second - first) * 100).toFixed(1)} points`,
);
const isOrdered = second > first;
print(`${isOrdered ? "yes" : "NO "}  FedProx is above FedAvg, as in the paper (22 points on average over its data sets)`);
process.exitCode = isOrdered ? 0 : 1;

function show(title: string, accuracies: readonly number[]): void {
  print(`${title}: test accuracy over all devices, every ${Math.ceil(ROUNDS / SHOWN)} rounds`);
  const step = Math.ceil(ROUNDS / SHOWN);
  printCurve(
    accuracies.filter((_, index) => (index + 1) % step === 0),
    step,
  );
}

function lastOf(accuracies: readonly number[]): number {
  const last = accuracies.slice(-LAST);
  return last.reduce((sum, accuracy) => sum + accuracy, 0) / last.length;
}

async function run(more: object): Promise<number[]> {
  const child = spawn(process.execPath, [entry, "-", "--json"], { stdio: ["pipe", "pipe", "inherit"] });
  child.stdin.end(JSON.stringify({ ...settings, threads: 1, ...more }));
  let text = "";
  for await (const chunk of child.stdout) text += String(chunk);
  const lines = text.trim().split("\n");
  return lines.flatMap((line) => (JSON.parse(line) as { accuracy?: number }).accuracy ?? []);
}
