import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
/** Packages of the client tests; their versions are part of the test. */
const CLIENTS = { openai: "3.49.0", "langchain-openai": "1.7.3", litellm: "1.83.0" };
/** numpy reads and writes the files that the trainer must support; the others test and build the package of sdk/python, whose masks need cryptography. */
const PACKAGES = { ...CLIENTS, numpy: "2.2.6", cryptography: "50.0.2", pytest: "9.2.0", setuptools: "84.2.1" };
/** Checks the metadata, because importing all packages takes seconds. */
const PROOF = `from importlib.metadata import version
for name, wanted in ${JSON.stringify(PACKAGES)}.items(): assert version(name) == wanted, name`;

/**
 * A Python with the clients, created once in .cache/python. Returns its path, or prints a warning and returns undefined; with CI set,
 * its absence is a failure, because silently skipped client tests prove nothing.
 */
export async function preparePython(root: string): Promise<string | undefined> {
  const folder = join(root, ".cache/python");
  const python = join(folder, "bin/python");
  if (await works(python)) return python;
  try {
    console.log("making .cache/python with the clients of the tests, numpy and pytest, once");
    await run("python3", ["-m", "venv", "--clear", folder], { timeout: 120_000 });
    const packages = Object.entries(PACKAGES).map(([name, version]) => `${name}==${version}`);
    await run(python, ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input", ...packages], { timeout: 300_000 });
    await run(python, ["-c", PROOF], { timeout: 60_000 });
    return python;
  } catch (error) {
    const message = `NO PYTHON CLIENT: tests with clients for Python do not run. ${String(error).slice(0, 500)}`;
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
