import { chmodSync, cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { compile } from "./compile.ts";
import { packageManifest } from "./manifest.ts";
import { packageFiles } from "./package-files.ts";

const PROGRAMS = ["scripts/tributary.js", "cli/main.js"];

/** Writes the package as a folder that npm can pack or install, and the image contains. Returns the number of files. */
export function buildPackage(root: string, out: string): number {
  rmSync(out, { recursive: true, force: true });
  const files = packageFiles(root);
  for (const path of files) writeOne(root, out, path);
  const read = (name: string) => JSON.parse(readFileSync(join(root, name), "utf8"));
  writeFileSync(
    join(out, "package.json"),
    `${JSON.stringify(packageManifest(read("package.json"), read("package-lock.json")), null, 2)}\n`,
  );
  for (const program of PROGRAMS) chmodSync(join(out, program), 0o755);
  return files.length + 1;
}

function writeOne(root: string, out: string, path: string): void {
  const target = join(out, path.replace(/\.ts$/, ".js"));
  mkdirSync(dirname(target), { recursive: true });
  if (path.endsWith(".ts")) writeFileSync(target, compile(path, readFileSync(join(root, path), "utf8")));
  else cpSync(join(root, path), target);
}
