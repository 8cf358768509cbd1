import { cpSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { buildPackage } from "./build-package.ts";

/** Where the image has the package, and where a process writes. */
const IMAGE_PACKAGE = "opt/tributary";
const DATA_FOLDER = "var/lib/tributary";

interface Lockfile {
  readonly packages: Readonly<Record<string, { readonly dev?: boolean; readonly optional?: boolean }>>;
}

/** Builds the tree from what is installed here, which obeys the lockfile. Returns the number of libraries. */
export function buildImageTree(root: string, out: string): number {
  rmSync(out, { recursive: true, force: true });
  const target = join(out, IMAGE_PACKAGE);
  buildPackage(root, target);
  const lockfile = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as Lockfile;
  const libraries = productionFolders(lockfile).filter((path) => isInstalled(root, path, lockfile));
  for (const path of libraries) cpSync(join(root, path), join(target, path), { recursive: true, filter: withoutNested(join(root, path)) });
  mkdirSync(join(out, DATA_FOLDER), { recursive: true, mode: 0o700 });
  mkdirSync(join(out, "usr/local/bin"), { recursive: true });
  symlinkSync(`/${IMAGE_PACKAGE}/scripts/tributary.js`, join(out, "usr/local/bin/tributary"));
  symlinkSync(`/${IMAGE_PACKAGE}/cli/main.js`, join(out, "usr/local/bin/gw"));
  return libraries.length;
}

const productionFolders = ({ packages }: Lockfile): string[] =>
  Object.keys(packages).filter((path) => path !== "" && packages[path]?.dev !== true);

/** Binaries of other platforms are optional and not installed; anything else that is missing would fail at the start. */
function isInstalled(root: string, path: string, { packages }: Lockfile): boolean {
  if (statSync(join(root, path), { throwIfNoEntry: false }) !== undefined) return true;
  if (packages[path]?.optional === true) return false;
  throw new Error(`${path} is not installed; run make setup`);
}

/** Libraries within a library are rows of the lockfile of their own, some of them for development only. */
function withoutNested(folder: string): (path: string) => boolean {
  const nested = join(folder, "node_modules");
  return (path) => path !== nested;
}
