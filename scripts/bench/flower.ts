import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const INSTALL_MAX_MS = 240_000;
const RUN_MAX_MS = 240_000;

/** Flower from PyPI in a separate folder, or the reason why it is not available. */
export async function flowerPython(cache: string): Promise<{ python: string; version: string } | { reason: string }> {
  const folder = join(cache, "flower");
  const python = join(folder, "bin", "python");
  try {
    if (!existsSync(python)) await run("python3", ["-m", "venv", folder], { timeout: INSTALL_MAX_MS });
    const version = () => run(python, ["-c", "import importlib.metadata as m, flwr; print(m.version('flwr'))"], { timeout: RUN_MAX_MS });
    const found = await version().catch(async () => {
      await run(python, ["-m", "pip", "install", "-q", "flwr"], { timeout: INSTALL_MAX_MS });
      return version();
    });
    return { python, version: found.stdout.trim() };
  } catch (thrown) {
    return { reason: thrown instanceof Error ? (thrown.message.split("\n")[0] ?? "unknown") : String(thrown) };
  }
}

/** The same with Ray, which only the simulation needs. */
export async function flowerSimulationPython(cache: string): ReturnType<typeof flowerPython> {
  const flower = await flowerPython(cache);
  if ("reason" in flower) return flower;
  const { python, version } = flower;
  try {
    await run(python, ["-c", "import ray"], { timeout: RUN_MAX_MS }).catch(() =>
      run(python, ["-m", "pip", "install", "-q", `flwr[simulation]==${version}`], { timeout: INSTALL_MAX_MS }),
    );
    return flower;
  } catch (thrown) {
    return { reason: `its simulation needs Ray: ${thrown instanceof Error ? thrown.message.split("\n")[0] : String(thrown)}` };
  }
}

/** CPU seconds of one weighted mean in Flower: of the bare function over arrays, and of FedAvg over the records of replies. */
export async function flowerAggregate(python: string, clients: number, length: number): Promise<{ bare: number; fedAvg: number }> {
  const script = join(import.meta.dirname, "flower-figures.py");
  const { stdout } = await run(python, [script, String(clients), String(length)], { timeout: RUN_MAX_MS });
  const [bare = Number.NaN, fedAvg = Number.NaN] = stdout.trim().split(" ").map(Number);
  return { bare, fedAvg };
}
