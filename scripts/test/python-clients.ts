import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
/** What the client tests speak with; the version is part of what is proven. */
const OPENAI_VERSION = "3.49.0";
/** Writes and reads the npy files that the trainer must understand. */
const NUMPY_VERSION = "2.2.6";
const PROOF = `import numpy, openai; assert openai.__version__ == "${OPENAI_VERSION}" and numpy.__version__ == "${NUMPY_VERSION}"`;

/**
 * A Python with the official client, made once in .cache/python. Returns its path, or undefined with a loud line; where CI is set
 * its absence is a failure, since client tests that quietly skip prove nothing.
 */
export async function preparePython(root: string): Promise<string | undefined> {
  const folder = join(root, ".cache/python");
  const python = join(folder, "bin/python");
  if (await works(python)) return python;
  try {
    console.log("making .cache/python with the OpenAI client and numpy, once");
    await run("python3", ["-m", "venv", "--clear", folder], { timeout: 120_000 });
    const packages = [`openai==${OPENAI_VERSION}`, `numpy==${NUMPY_VERSION}`];
    await run(python, ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input", ...packages], { timeout: 300_000 });
    await run(python, ["-c", PROOF], { timeout: 60_000 });
    return python;
  } catch (error) {
    const message = `NO PYTHON CLIENT: tests with the official OpenAI client for Python do not run. ${String(error).slice(0, 500)}`;
    if (process.env["CI"]) throw new Error(message);
    process.stderr.write(`${message}\n`);
    return undefined;
  }
}

async function works(python: string): Promise<boolean> {
  return run(python, ["-c", PROOF], { timeout: 60_000 }).then(
    () => true,
    () => false,
  );
}
