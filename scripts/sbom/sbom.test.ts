import { readFileSync } from "node:fs";
import { join } from "node:path";
import { billOfMaterials } from "./cyclonedx.ts";
import { isAllowed, licenseReport } from "./licenses.ts";
import { type Lockfile, productionPackages } from "./production-packages.ts";

const bytes = Buffer.alloc(64, 7);
const integrity = `sha512-${bytes.toString("base64")}`;

const lockfile: Lockfile = {
  name: "tributary",
  version: "0.1.0",
  packages: {
    "": { version: "0.1.0", license: "MIT" },
    "node_modules/@scope/a": { version: "1.0.0", license: "MIT", integrity },
    "node_modules/b": { version: "2.0.0", license: "(Apache-2.0 AND BSD-3-Clause)", integrity, optional: true },
    "node_modules/@scope/a/node_modules/b": { version: "2.0.0", license: "(Apache-2.0 AND BSD-3-Clause)", integrity },
    "node_modules/@scope/a/node_modules/c": { version: "3.0.0-rc.1", license: "ISC", integrity, optional: true },
    "node_modules/alias": { name: "real", version: "4.0.0", license: "ISC", integrity },
    "node_modules/tool": { version: "1.0.0", license: "GPL-3.0-only", integrity, dev: true },
  },
};

test("production packages are listed once per version, by their real names, and without packages for development", () => {
  expect(productionPackages(lockfile).map(({ name, version, optional }) => [name, version, optional])).toEqual([
    ["@scope/a", "1.0.0", false],
    ["b", "2.0.0", false],
    ["c", "3.0.0-rc.1", true],
    ["real", "4.0.0", false],
  ]);
});

test("a component has name, version, purl, license and SHA-512", () => {
  const { metadata, components, ...head } = billOfMaterials(lockfile) as { metadata: object; components: object[] };
  expect(head).toEqual({
    $schema: "http://cyclonedx.org/schema/bom-1.5.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.5",
    version: 1,
  });
  expect(metadata).toMatchObject({ component: { type: "application", name: "tributary", purl: "pkg:npm/tributary@0.1.0" } });
  expect(components[0]).toEqual({
    type: "library",
    "bom-ref": "pkg:npm/%40scope/a@1.0.0",
    name: "@scope/a",
    version: "1.0.0",
    scope: "required",
    purl: "pkg:npm/%40scope/a@1.0.0",
    licenses: [{ license: { id: "MIT" } }],
    hashes: [{ alg: "SHA-512", content: bytes.toString("hex") }],
  });
  expect(components[1]).toMatchObject({ licenses: [{ expression: "(Apache-2.0 AND BSD-3-Clause)" }] });
});

test.each([
  ["MIT", true],
  ["GPL-3.0-only", false],
  ["no license", false],
  ["(MIT OR GPL-3.0-only)", true],
  ["(MIT AND GPL-3.0-only)", false],
  ["(Apache-2.0 AND BSD-3-Clause)", true],
  ["(MIT OR ISC) AND GPL-3.0-only", false],
])("%s is allowed: %s", (license, expected) => {
  expect(isAllowed(license)).toBe(expected);
});

test("a license outside the list, or none, fails the report and is named", () => {
  const withPackage = (license?: string): Lockfile => ({
    ...lockfile,
    packages: { ...lockfile.packages, "node_modules/x": { version: "1.0.0", ...(license === undefined ? {} : { license }) } },
  });
  expect(licenseReport(lockfile)).toMatchObject({ ok: true, lines: expect.arrayContaining(["ISC (2): c@3.0.0-rc.1, real@4.0.0"]) });
  const refused = licenseReport(withPackage("AGPL-3.0-only"));
  expect([refused.ok, refused.lines.at(-1)]).toEqual([false, "not allowed: AGPL-3.0-only"]);
  expect(licenseReport(withPackage()).lines.at(-1)).toBe("not allowed: no license");
});

test("every production dependency of this repository has an allowed license and a SHA-512", () => {
  const own = JSON.parse(readFileSync(join(import.meta.dirname, "../../package-lock.json"), "utf8")) as Lockfile;
  expect(licenseReport(own).lines.at(-1)).toMatch(/^\d+ packages, every license is allowed$/);
  const { components } = billOfMaterials(own) as { components: { "bom-ref": string; hashes?: object[]; licenses?: object[] }[] };
  expect(components.length).toBeGreaterThan(100);
  expect(new Set(components.map((one) => one["bom-ref"])).size).toBe(components.length);
  expect(components.filter(({ hashes, licenses }) => !hashes || !licenses)).toEqual([]);
});
