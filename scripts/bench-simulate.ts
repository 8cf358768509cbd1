/**
 * `make bench-simulate`: rounds of 1,000 scikit-learn clients by our simulation over processes, over Ray, and by Flower's simulation, one after the
 * other on this machine. Prints figures; asserts nothing, because the machine may have other load. CLIENTS, ROUNDS and ONLY="processes ray" change it.
 */
import { availableParallelism } from "node:os";
import { join, resolve } from "node:path";
import { measureProgram, type ProgramFigures } from "./bench/program-figures.ts";
import { ML_ENVIRONMENT, prepareMlPython } from "./test/ml-python.ts";

const root = resolve(import.meta.dirname, "..");
const examples = join(root, "sdk/python/examples");
const [clients, rounds] = [Number(process.env["CLIENTS"] ?? 1000), Number(process.env["ROUNDS"] ?? 3)];
const actors = availableParallelism();
const MAX_MS = Number(process.env["MAX_MS"] ?? 600_000);

interface Rounds {
  readonly seconds: readonly number[];
  readonly accuracy: number;
}

const python = await prepareMlPython();
const env = {
  ...process.env,
  ...ML_ENVIRONMENT,
  ...{ OMP_NUM_THREADS: "1", PYTHONPATH: `${join(root, "sdk/python/src")}:${examples}` },
};
const ours = (...more: string[]) => {
  const options = ["-", "--json", "--python", python, "--clients", String(clients), "--rounds", String(rounds), ...more];
  return measureProgram(process.execPath, [join(root, "trainer-node/simulation/main.ts"), ...options], {
    ...{ env, maxMs: MAX_MS, input: JSON.stringify({ ...settings(), threads: actors }) },
  });
};
const flower = () =>
  measureProgram(python, [join(root, "scripts/bench/flower-sklearn-simulation.py"), String(clients), String(rounds), String(actors)], {
    ...{ env, maxMs: MAX_MS },
  });
const PROGRAMS: Readonly<Record<string, { run: () => Promise<ProgramFigures>; read: (text: string) => Rounds }>> = {
  processes: { run: () => ours(), read: readOurs },
  ray: { run: () => ours("--ray"), read: readOurs },
  flower: { run: flower, read: readFlower },
};

const only = (process.env["ONLY"] ?? Object.keys(PROGRAMS).join(" ")).split(" ");
console.log(`${clients} scikit-learn clients in each of ${rounds} rounds, ${actors} processes or actors`);
const best: Record<string, number> = {};
for (const name of only) {
  const program = PROGRAMS[name];
  if (!program) throw new Error(`ONLY: ${name} is not one of ${Object.keys(PROGRAMS).join(", ")}`);
  const figures = await program.run();
  const { seconds, accuracy } = program.read(figures.stdout);
  best[name] = Math.min(...seconds.slice(seconds.length > 1 ? 1 : 0));
  console.log(line(name, figures, { seconds, accuracy }));
}
for (const name of ["processes", "ray"])
  if (best[name] !== undefined && best["flower"] !== undefined)
    console.log(`a round of Flower's simulation over one of ours, ${name}: ${(best["flower"] / best[name]).toFixed(1)} (goal: at least 3)`);

function settings(): object {
  return {
    functions: join(examples, "sklearn_digits.py"),
    fraction: 1,
    task: {
      name: "sklearn-digits",
      config: { epochs: 1, lr: 0.1 },
      dataset: { partition: { scheme: "dirichlet", alpha: 0.1, seed: 1 } },
    },
  };
}

function readOurs(text: string): Rounds {
  const found = text
    .trim()
    .split("\n")
    .flatMap((one) => (one.startsWith('{"round"') ? [JSON.parse(one) as { seconds: number; accuracy?: number; round: number }] : []))
    .filter(({ round }) => Number.isInteger(round));
  return { seconds: found.map(({ seconds }) => seconds), accuracy: found.at(-1)?.accuracy ?? Number.NaN };
}

function readFlower(text: string): Rounds {
  const found = [...text.matchAll(/^ROUND ([\d.]+) (\d+) ([\d.]+)$/gm)];
  return { seconds: found.map(([, seconds]) => Number(seconds)), accuracy: Number(found.at(-1)?.[3]) };
}

function line(name: string, { seconds: whole, cpuSeconds, peakMb, isLate }: ProgramFigures, { seconds, accuracy }: Rounds): string {
  const shown = seconds.map((one) => one.toFixed(1)).join(", ");
  const late = isLate ? ` (ended after ${(MAX_MS / 1000).toFixed(0)} s)` : "";
  return `${name.padEnd(10)} seconds by round ${shown}; whole ${whole.toFixed(0)} s${late}, CPU ${cpuSeconds.toFixed(0)} s, ${peakMb.toFixed(0)} MB at most; accuracy ${accuracy.toFixed(3)}`;
}
