import { execFile } from "node:child_process";
import { resolve } from "node:path";
import { promisify } from "node:util";

// The example of a hundred simulated torch clients: `make test-ml` makes the Python that this needs.
const run = promisify(execFile);
const python = process.env["ML_PYTHON"];
const withPython = python === undefined ? test.skip : test;
const WHY = python === undefined ? " (ML_PYTHON names no Python with torch; `make test-ml` makes one)" : "";
const root = resolve(import.meta.dirname, "../..");
const MAX_MS = 170_000;

withPython(
  `a hundred clients of a torch network learn the digits in a simulation${WHY}`,
  async () => {
    const file = "sdk/python/examples/torch_network.json";
    const args = ["trainer-node/simulation/main.ts", file, "--json", "--python", python as string];
    const { stdout } = await run(process.execPath, args, { cwd: root, timeout: MAX_MS });
    const lines = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    const rounds = lines.slice(0, -1);
    const curve = rounds.map(({ accuracy }) => accuracy.toFixed(3)).join(", ");
    const seconds = rounds.reduce((sum, round) => sum + round.seconds, 0);
    process.stdout.write(`simulation, 100 torch clients: accuracy by round ${curve}; ${seconds.toFixed(1)} s, ${lines.at(-1).peakMb} MB\n`);
    expect(rounds.map(({ accepted }) => accepted)).toEqual(Array(10).fill(100));
    expect(rounds.at(-1).accuracy).toBeGreaterThan(0.85);
  },
  MAX_MS,
);
