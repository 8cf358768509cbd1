import { execFile } from "node:child_process";
import { join, resolve } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const root = resolve(import.meta.dirname, "../..");
const folder = join(root, ".cache/python-ml");
const python = join(folder, "bin/python");
/** Their versions are part of the tests. flwr's extra `simulation` is the ray that its simulation runs on. */
const PACKAGES = {
  ...{ "flwr[simulation]": "1.41.0", "scikit-learn": "1.9.1", numpy: "2.4.6", pytest: "9.2.0" },
  ...{ transformers: "5.22.2", peft: "0.21.2", mlflow: "3.17.2", jax: "0.10.2", "dp-accounting": "0.6.0" },
};
const TORCH = "2.15.0";
/** PyPI's torch for Linux brings CUDA's libraries, gigabytes of them; this index has builds without. */
const CPU_INDEX = "https://download.pytorch.org/whl/cpu";
const VERSIONS = Object.fromEntries(
  Object.entries({ ...PACKAGES, torch: TORCH }).map(([name, version]) => [name.replace(/\[.*/, ""), version]),
);
const PROOF = `from importlib.metadata import version
for name, wanted in ${JSON.stringify(VERSIONS)}.items(): assert version(name).split("+")[0] == wanted, name`;
/** For programs of that Python: bytecode stays out of the sources, and is kept, because compiling torch takes half a minute. */
export const ML_ENVIRONMENT = { PYTHONPYCACHEPREFIX: join(folder, "bytecode"), FLWR_TELEMETRY_ENABLED: "0" };
const INSTALL_MS = 1_800_000;
const CPU_INDEX_MS = 600_000;

/** A Python with the heavy packages, made once in .cache/python-ml, and completed when a version changes. Returns its path. */
export async function prepareMlPython(): Promise<string> {
  if (await succeeds(python, ["-c", PROOF])) return python;
  const packages = Object.entries(PACKAGES).map(([name, version]) => `${name}==${version}`);
  console.log(`completing ${folder} with torch==${TORCH}, ${packages.join(", ")}, once: some minutes`);
  // One that lacks only some of the packages keeps the others, which are gigabytes.
  if (!(await succeeds(python, ["-m", "pip", "--version"])))
    await run("python3", ["-m", "venv", "--clear", folder], { timeout: INSTALL_MS });
  const isCpuBuild = await succeeds(python, [...PIP, "--retries", "0", "--index-url", CPU_INDEX, `torch==${TORCH}`], CPU_INDEX_MS);
  if (!isCpuBuild) console.log(`${CPU_INDEX} cannot be used; torch comes from PyPI with CUDA's libraries (5 GB)`);
  await run(python, [...PIP, `torch==${TORCH}`, ...packages], { timeout: INSTALL_MS });
  await run(python, ["-c", PROOF]);
  return python;
}

const PIP = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input", "--no-compile"];

async function succeeds(program: string, args: readonly string[], timeout = INSTALL_MS): Promise<boolean> {
  return run(program, args, { timeout }).then(
    () => true,
    () => false,
  );
}
