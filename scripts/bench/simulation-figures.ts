import { execFile, spawn } from "node:child_process";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { flowerSimulationPython } from "./flower.ts";

const root = join(import.meta.dirname, "../..");
const ROUNDS = 3;
const FLOWER_MAX_MS = 60_000;

interface SimulationFigures {
  /** The fastest round after the first, which starts threads. */
  readonly seconds: number;
  readonly peakMb: number;
}

/** Rounds of virtual clients that add a constant, in the simulation with default settings. */
async function simulationFigures({ clients, length }: { clients: number; length: number }): Promise<SimulationFigures> {
  const options = {
    clients,
    rounds: ROUNDS,
    eval: { mode: "none" },
    functions: join(import.meta.dirname, "add-constant.ts"),
    task: { name: "add", config: { length }, dataset: { partition: { scheme: "iid" } } },
  };
  const child = spawn(process.execPath, [join(root, "trainer-node/simulation/main.ts"), "-", "--json"], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  child.stdin.end(JSON.stringify(options));
  let text = "";
  for await (const chunk of child.stdout) text += String(chunk);
  const lines = text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { seconds?: number; peakMb?: number });
  const seconds = lines.slice(1).flatMap((line) => line.seconds ?? []);
  return { seconds: Math.min(...seconds), peakMb: lines.at(-1)?.peakMb ?? Number.NaN };
}

/** Seconds of one round of the same simulation in Flower, or the reason why there is none. */
async function flowerSimulation(clients: number, length: number): Promise<{ seconds: number; atLeast: boolean } | { reason: string }> {
  const flower = await flowerSimulationPython(join(root, ".cache"));
  if ("reason" in flower) return flower;
  const run = promisify(execFile);
  const script = join(import.meta.dirname, "flower-simulation.py");
  const words = [script, String(clients), String(length), String(availableParallelism())];
  try {
    const { stdout } = await run(flower.python, words, { timeout: FLOWER_MAX_MS, killSignal: "SIGKILL", maxBuffer: 2 ** 26 });
    const [, seconds] = /ROUND ([\d.]+)/.exec(stdout) ?? [];
    return seconds === undefined ? { reason: "it printed no figure" } : { seconds: Number(seconds), atLeast: false };
  } catch (thrown) {
    const { killed, stderr = "" } = Object(thrown) as { killed?: boolean; stderr?: string };
    if (killed) return { seconds: FLOWER_MAX_MS / 1000, atLeast: true };
    return { reason: stderr.slice(-200) };
  }
}

/** The rows of `make bench-training`. */
export async function printSimulation(print: (what: string, value: number, aim: string) => void): Promise<void> {
  const [clients, length] = [1000, 100_000];
  const { seconds, peakMb } = await simulationFigures({ clients, length });
  print(`simulation, a round of ${clients} virtual clients x ${length}: seconds`, seconds, "at most 2 on an idle machine");
  print("  its peak memory in megabytes", peakMb, "");
  const flower = await flowerSimulation(clients, length);
  if ("reason" in flower) return console.log(`  Flower's simulation of the same could not be had: ${flower.reason}`);
  const what = flower.atLeast
    ? "  Flower's simulation of the same was ended after 60 s: at least so many times"
    : "  Flower's simulation over it";
  print(what, flower.seconds / seconds, "at least 10");
}
