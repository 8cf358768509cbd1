import { execFile } from "node:child_process";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { encodeParameters } from "../../trainer-node/codec/parameters.ts";

const run = promisify(execFile);
const python = process.env["TEST_PYTHON"];
const MISSING = "NO PYTHON: the tests of sdk/python do not run. Set TEST_PYTHON, or use `make test`.";
const sdk = resolve(import.meta.dirname, "../../sdk/python");
const PYTEST_MAX_MS = 240_000;

/** What the package writes, by one of its own tensors of each width. */
const WRITE = `import base64
from tributary_participant.safetensors import Tensor, dump
tensors = {"weight": Tensor.of([1.5, -2, 0.25, 4], shape=[2, 2]), "bias": Tensor.of([0.5], dtype="F16"), "größe": Tensor.of([-7], dtype="I64")}
print(base64.b64encode(dump(tensors)).decode())`;

interface Ended {
  readonly passed: boolean;
  readonly output: string;
}

async function runPytest(program: string): Promise<Ended> {
  const options = ["-m", "pytest", "-q", "-rs", "--color=no", "--tb=short"];
  try {
    const { stdout } = await run(program, options, { cwd: sdk, env: environment(), timeout: PYTEST_MAX_MS, maxBuffer: 64 * 1024 * 1024 });
    return { passed: true, output: stdout };
  } catch (thrown) {
    const { stdout = "", stderr = "" } = thrown as { stdout?: string; stderr?: string };
    return { passed: false, output: `${stdout}${stderr}` || String(thrown) };
  }
}

/** Whatever this machine sets for a trainer of its own has no part in these tests. */
function environment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !/^(TRAINER_|PYTEST_)|^(HOST|DATASET_PATH|PYTHONPATH)$/.test(name));
  return { ...Object.fromEntries(kept), PYTHONDONTWRITEBYTECODE: "1", PYTHONPATH: join(sdk, "src"), PYTHONUTF8: "1" };
}

if (python === undefined) {
  test("without a Python there is a loud line, and a failure where CI is set", () => {
    process.stderr.write(`${MISSING}\n`);
    if (process.env["CI"]) throw new Error(MISSING);
  });
} else {
  test(
    "every test of the Python package passes",
    async () => {
      const { passed, output } = await runPytest(python);
      const lines = output.trimEnd().split("\n");
      // The reasons of what was skipped, and the counts.
      for (const line of lines.filter((text) => text.startsWith("SKIPPED"))) process.stderr.write(`sdk/python: ${line}\n`);
      process.stderr.write(`sdk/python: ${lines.at(-1)}\n`);
      if (!passed) throw new Error(`pytest of sdk/python failed:\n${output.slice(-20_000)}`);
      expect(Number(/(\d+) passed/.exec(lines.at(-1) ?? "")?.[1] ?? 0)).toBeGreaterThan(200);
    },
    PYTEST_MAX_MS + 10_000,
  );

  test("the package and the trainer node write the same tensors as the same bytes", async () => {
    const { stdout } = await run(python, ["-c", WRITE], { env: environment(), timeout: 30_000 });
    const ours = encodeParameters(
      [
        { name: "größe", dtype: "i64", shape: [1], data: BigInt64Array.of(-7n) },
        { name: "bias", dtype: "f16", shape: [1], data: Float32Array.of(0.5) },
        { name: "weight", dtype: "f32", shape: [2, 2], data: Float32Array.of(1.5, -2, 0.25, 4) },
      ],
      "safetensors",
    );
    expect(stdout.trim()).toBe(Buffer.from(ours).toString("base64"));
  });
}
