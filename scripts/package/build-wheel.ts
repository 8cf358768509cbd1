import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const BUILD_MAX_MS = 300_000;
const COPIED = ["pyproject.toml", "README.md", "src"];

interface WheelOptions {
  readonly python?: string;
  /** Whether setuptools is the one of this Python, in place of one that pip fetches for the build. */
  readonly ownTools?: boolean;
}

/** Builds the wheel of the Python SDK with the version of package.json, in a copy, because setuptools writes into the folder it builds. */
export function buildWheel(root: string, out: string, { python = "python3", ownTools = false }: WheelOptions = {}): string {
  const folder = mkdtempSync(join(tmpdir(), "tributary-wheel-"));
  try {
    for (const name of COPIED) cpSync(join(root, "sdk/python", name), join(folder, name), { recursive: true });
    const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
    writeFileSync(join(folder, "src/tributary_participant/version.py"), `VERSION = "${version}"\n`);
    const wheels = join(folder, "wheels");
    const pip = ["-m", "pip", "wheel", "--quiet", "--no-deps", "--no-input", "--disable-pip-version-check", "--wheel-dir", wheels];
    execFileSync(python, [...pip, ...(ownTools ? ["--no-build-isolation"] : []), folder], {
      timeout: BUILD_MAX_MS,
      stdio: ["ignore", "ignore", "inherit"],
    });
    const [name] = readdirSync(wheels);
    if (name === undefined) throw new Error("pip built no wheel");
    cpSync(join(wheels, name), join(out, name));
    return join(out, name);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
