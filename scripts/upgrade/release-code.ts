import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

const root = resolve(import.meta.dirname, "../..");

/** The runnable code of a release, or why there is none. */
export type ReleaseCode = { readonly root: string } | { readonly missing: string };

/** The code of a commit of this repository's history with what is generated from it, in a folder of the cache. */
export function releaseCode(commit: string): ReleaseCode {
  if (!isInHistory(commit))
    return { missing: `the history here has no commit ${commit}; in a shallow clone, git fetch --unshallow brings it` };
  const folder = join(root, ".cache", "releases", commit);
  const complete = join(folder, ".complete");
  if (existsSync(complete)) return { root: folder };
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  run("bash", ["-c", `set -o pipefail; git -C "$0" archive ${commit} | tar -x`, root], folder);
  installPackages(folder);
  run("buf", ["generate"], folder);
  for (const script of ["build-registries", "build-kernels"]) run(process.execPath, [`scripts/${script}.ts`], folder);
  writeFileSync(complete, "");
  return { root: folder };
}

function isInHistory(commit: string): boolean {
  try {
    execFileSync("git", ["-C", root, "cat-file", "-e", `${commit}^{commit}`], { stdio: "ignore" });
    return true;
  } catch {
    // Git says so by its exit code.
    return false;
  }
}

/** The packages of this release serve if they include those of the other one in the same versions. */
function installPackages(folder: string): void {
  const [own, other] = [versionsIn(root), versionsIn(folder)];
  const isIncluded = Object.entries(other).every(([path, version]) => own[path] === version);
  if (isIncluded) symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  else run("npm", ["install", "--no-save", "--no-audit", "--no-fund", "--no-progress", "--loglevel=error"], folder);
}

function versionsIn(folder: string): Record<string, string> {
  const { packages } = JSON.parse(readFileSync(join(folder, "package-lock.json"), "utf8")) as {
    packages: Record<string, { version: string }>;
  };
  return Object.fromEntries(Object.entries(packages).flatMap(([path, { version }]) => (path === "" ? [] : [[path, version]])));
}

function run(command: string, words: readonly string[], cwd: string): void {
  execFileSync(command, words, { cwd, stdio: ["ignore", "ignore", "inherit"] });
}
