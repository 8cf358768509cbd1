import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { evidence } from "../helpers/evidence.ts";

const root = resolve(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(root, path), "utf8");

interface LockedPackage {
  readonly integrity?: string;
  readonly resolved?: string;
  readonly link?: boolean;
  readonly hasInstallScript?: boolean;
}

describe("S-52: packages", () => {
  test("every package of the lockfile has a SHA-512 and comes from the registry", () => {
    const { packages } = JSON.parse(read("package-lock.json")) as { packages: Record<string, LockedPackage> };
    const locked = Object.entries(packages).filter(([path]) => path !== "");
    const isOdd = ({ integrity, resolved = "https://registry.npmjs.org/", link }: LockedPackage) =>
      link || !integrity?.startsWith("sha512-") || !resolved.startsWith("https://registry.npmjs.org/");
    expect(locked.filter(([, entry]) => isOdd(entry)).map(([path]) => path)).toEqual([]);
    expect(locked.length).toBeGreaterThan(200);
    evidence("S-52", `${locked.length} packages with a SHA-512, none runs a script at its installation`);
  });

  test("no installation runs scripts of packages", () => {
    expect(read(".npmrc").split("\n")).toContain("ignore-scripts=true");
    expect(read("Makefile")).not.toMatch(/ignore-scripts=false|npm rebuild|npm (run )?postinstall/);
  });

  test("the declared packages are those of the lockfile", () => {
    const { packages } = JSON.parse(read("package-lock.json")) as { packages: Record<string, Record<string, unknown>> };
    const { dependencies, devDependencies } = JSON.parse(read("package.json")) as Record<string, unknown>;
    expect({ dependencies: packages[""]?.["dependencies"], devDependencies: packages[""]?.["devDependencies"] }).toEqual({
      dependencies,
      devDependencies,
    });
  });
});
