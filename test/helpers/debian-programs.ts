import { execFile } from "node:child_process";
import { access, mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** A program, and what its environment needs beside ours. */
export interface Program {
  readonly path: string;
  readonly env: Readonly<Record<string, string>>;
}

export interface DebianProgram {
  /** Name of the program; with underscores and in capitals, the variable that names another one. */
  readonly name: string;
  /** Packages that have the program, and the libraries that a minimal machine may lack. */
  readonly packages: readonly string[];
  /** Where they are unpacked. */
  readonly folder: string;
}

/** The program of the variable, on the PATH, in the cache, or in Debian's packages, which are unpacked without installation. */
export async function findProgram(program: DebianProgram): Promise<Program> {
  const { name, folder } = program;
  const given = process.env[name.replaceAll("-", "_").toUpperCase()];
  const onPath = (process.env["PATH"] ?? "").split(delimiter).map((place) => join(place, name));
  for (const path of given ? [given] : onPath) if (await starts({ path, env: {} })) return { path, env: {} };
  const unpacked = join(folder, "debian");
  const own = await programIn(unpacked, name);
  if (await starts(own)) return own;
  const reason = await unpack(program, unpacked);
  const fetched = await programIn(unpacked, name);
  if (await starts(fetched)) return fetched;
  throw new Error(`${name} is not here, and Debian's packages ${program.packages.join(", ")} could not be had: ${reason}`);
}

async function programIn(unpacked: string, name: string): Promise<Program> {
  const folders = await readdir(join(unpacked, "usr/lib")).catch(() => []);
  const libraries = folders.map((folder) => join(unpacked, "usr/lib", folder)).join(":");
  return { path: join(unpacked, "usr/bin", name), env: { LD_LIBRARY_PATH: libraries } };
}

/** Two test workers may do this at the same time: each uses its own folder, and the rename at the end is atomic. Returns why it failed. */
async function unpack({ packages, folder }: DebianProgram, unpacked: string): Promise<string> {
  await mkdir(folder, { recursive: true });
  const own = await mkdtemp(join(folder, "fetch-"));
  try {
    await run("apt-get", ["download", ...packages], { cwd: own, timeout: 120_000 });
    const content = join(own, "content");
    for (const name of await readdir(own)) {
      if (name.endsWith(".deb")) await run("dpkg", ["-x", join(own, name), content], { timeout: 60_000 });
    }
    await rename(content, unpacked).catch(async (error: NodeJS.ErrnoException) => {
      // The other worker was faster.
      await access(unpacked).catch(() => Promise.reject(error));
    });
    return "they do not start";
  } catch (error) {
    return String(error).slice(0, 500);
  } finally {
    await rm(own, { recursive: true, force: true });
  }
}

async function starts({ path, env }: Program): Promise<boolean> {
  try {
    await run(path, ["--version"], { timeout: 20_000, env: { ...process.env, ...env } });
    return true;
  } catch {
    return false;
  }
}
