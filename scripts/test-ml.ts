/** `make test-ml`: tests with heavy Python packages (flwr, scikit-learn), in a Python of their own that is made once in .cache. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const root = resolve(import.meta.dirname, "..");
const sdk = join(root, "sdk/python");
const folder = join(root, ".cache/python-ml");
const python = join(folder, "bin/python");
const PACKAGES = { flwr: "1.41.0", "scikit-learn": "1.9.1", numpy: "2.4.6", pytest: "9.2.0" };
const PROOF = `from importlib.metadata import version
for name, wanted in ${JSON.stringify(PACKAGES)}.items(): assert version(name) == wanted, name`;
const INSTALL_MS = 600_000;

await preparePython();
const environment = { ML_PYTHON: python, PYTHONPATH: join(sdk, "src"), PYTHONDONTWRITEBYTECODE: "1", FLWR_TELEMETRY_ENABLED: "0" };
const pytest = await ended(python, ["-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", "tests_ml"], { cwd: sdk });
const federation = await ended(process.execPath, [join(root, "scripts/test.ts"), "test/ml", ...process.argv.slice(2)], { cwd: root });
printLines();
process.exitCode = pytest === 0 && federation === 0 ? 0 : 1;

/** Makes the Python once. pip's own cache makes a second clone quick. */
async function preparePython(): Promise<void> {
  const isThere = await run(python, ["-c", PROOF]).then(
    () => true,
    () => false,
  );
  if (isThere) return;
  console.log(`making ${folder} with ${Object.keys(PACKAGES).join(", ")}, once`);
  await run("python3", ["-m", "venv", "--clear", folder], { timeout: INSTALL_MS });
  const packages = Object.entries(PACKAGES).map(([name, version]) => `${name}==${version}`);
  await run(python, ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input", ...packages], { timeout: INSTALL_MS });
}

async function ended(program: string, args: readonly string[], { cwd }: { cwd: string }): Promise<number> {
  const child = spawn(program, args, { cwd, env: { ...process.env, ...environment }, stdio: ["ignore", "inherit", "inherit"] });
  const [code] = (await once(child, "close")) as [number | null];
  return code ?? 1;
}

/** What one writes to train the same model: Flower needs a ServerApp beside the ClientApp, and here a command is enough. */
function printLines(): void {
  const linesOf = (path: string) =>
    readFileSync(join(sdk, path), "utf8")
      .split("\n")
      .filter((line) => /^\s*[^\s#"]/.test(line)).length;
  const app = linesOf("examples/flower_sklearn/client_app.py");
  console.log(
    `lines of code: the Flower ClientApp ${app}, changed 0; to run it here 0 (python -m tributary_participant.flower client_app:app);`,
  );
  console.log("  Flower itself needs a ServerApp, too: 39 such lines in its example sklearn-logreg-mnist (server_app.py at 0877907a)");
}
