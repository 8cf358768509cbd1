import { spawn } from "node:child_process";
import { once } from "node:events";
import { join, resolve } from "node:path";

// Simulations of Python clients over the real Ray: `make test-ml` makes the Python that this needs.
const python = process.env["ML_PYTHON"];
const withPython = python === undefined ? test.skip : test;
const WHY = python === undefined ? " (ML_PYTHON names no Python with ray; `make test-ml` makes one)" : "";
const root = resolve(import.meta.dirname, "../..");
const MAX_MS = 170_000;

const settings = {
  ...{ functions: join(root, "trainer-node/simulation/python/__fixtures__/functions.py"), python: python ?? "" },
  ...{ clients: 60, rounds: 2, threads: 2, fraction: 1, eval: { mode: "sites" } },
};
const taskOf = (config: object) => ({ name: "own", config, dataset: { partition: { scheme: "iid" } } });

async function simulated(more: object, ...args: string[]): Promise<{ lines: ReturnType<typeof JSON.parse>[]; errors: string }> {
  const child = spawn(process.execPath, [join(root, "trainer-node/simulation/main.ts"), "-", "--json", ...args], { cwd: root });
  const [out, errors]: [string[], string[]] = [[], []];
  child.stdout.on("data", (chunk) => out.push(String(chunk)));
  child.stderr.on("data", (chunk) => errors.push(String(chunk)));
  child.stdin.end(JSON.stringify({ ...settings, ...more }));
  await once(child, "close");
  const lines = out
    .join("")
    .split("\n")
    .filter((line) => line !== "");
  return { lines: lines.map((line) => JSON.parse(line)), errors: errors.join("") };
}

withPython(
  `a simulation over Ray has the records of one over processes, bit for bit${WHY}`,
  async () => {
    const task = taskOf({ step: 2 });
    const [plain, ray] = [await simulated({ task }), await simulated({ task }, "--ray")];
    const hashes = ({ lines }: typeof plain) => lines.slice(0, 2).map(({ accepted, recordHash }) => [accepted, recordHash]);
    expect(hashes(ray)).toEqual([
      [60, expect.stringMatching(/^[0-9a-f]{64}$/)],
      [60, expect.stringMatching(/^[0-9a-f]{64}$/)],
    ]);
    expect(hashes(ray)).toEqual(hashes(plain));
  },
  MAX_MS,
);

withPython(
  `a function that ends its actor's process is its client's failure, with that reason${WHY}`,
  async () => {
    const { lines, errors } = await simulated({ clients: 3, rounds: 1, task: taskOf({ fail: "exit" }), ray: true });
    expect(lines).toEqual([]);
    expect(errors).toContain("its function ended its process");
  },
  MAX_MS,
);
