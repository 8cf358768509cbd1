/** `make test-ml`: tests with heavy Python packages (torch, flwr, scikit-learn, transformers, peft, mlflow, jax, dp-accounting), in a Python of their own that is made once in .cache. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { ML_ENVIRONMENT, prepareMlPython } from "./test/ml-python.ts";

const root = resolve(import.meta.dirname, "..");
const sdk = join(root, "sdk/python");
/** Tests of the package that need torch or jax, and are skipped without them. */
const WITH_TORCH = ["tests/test_adapters.py", "tests/test_package.py::test_the_torch_example_learns_or_says_that_torch_is_missing"];

const python = await prepareMlPython();
const environment = { ...ML_ENVIRONMENT, ML_PYTHON: python, PYTHONPATH: join(sdk, "src") };
const pytest = await ended(python, ["-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", "tests_ml", ...WITH_TORCH], { cwd: sdk });
const federation = await ended(process.execPath, [join(root, "scripts/test.ts"), "test/ml", ...process.argv.slice(2)], { cwd: root });
printLines();
process.exitCode = pytest === 0 && federation === 0 ? 0 : 1;

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
  const [sklearn, torch] = ["sklearn", "torch"].map((name) => linesOf(`examples/flower_${name}/client_app.py`));
  console.log(
    `lines of code: the Flower ClientApps ${sklearn} (scikit-learn) and ${torch} (torch), changed 0; to run them here 0 (python -m tributary_participant.flower client_app:app);`,
  );
  console.log("  Flower itself needs a ServerApp, too: 39 such lines in its example sklearn-logreg-mnist (server_app.py at 0877907a)");
}
