import { type Lockfile, productionPackages } from "./production-packages.ts";

/** Permissive licenses, by SPDX identifier: use, change and distribution are free, if the notices stay. */
const ALLOWED = new Set([
  "0BSD",
  "Apache-2.0",
  "BlueOak-1.0.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "CC-BY-3.0",
  "CC-BY-4.0",
  "CC0-1.0",
  "ISC",
  "MIT",
  "MIT-0",
  "Python-2.0",
  "Unlicense",
]);

const NO_LICENSE = "no license";

/** A report of licenses; not ok if a package has a license that is not allowed, or none. */
export interface LicenseReport {
  readonly ok: boolean;
  readonly lines: readonly string[];
}

/** One line per license of the production dependencies, the most frequent first, with its packages. */
export function licenseReport(lockfile: Lockfile): LicenseReport {
  const packages = productionPackages(lockfile);
  const groups = [...Map.groupBy(packages, ({ license }) => license ?? NO_LICENSE)].sort(
    ([, left], [, right]) => right.length - left.length,
  );
  const refused = groups.filter(([license]) => !isAllowed(license)).map(([license]) => license);
  const listed = groups.map(
    ([license, members]) => `${license} (${members.length}): ${members.map(({ name, version }) => `${name}@${version}`).join(", ")}`,
  );
  const verdict = refused.length === 0 ? `${packages.length} packages, every license is allowed` : `not allowed: ${refused.join("; ")}`;
  return { ok: refused.length === 0, lines: [...listed, verdict] };
}

/** All parts of an AND and one part of an OR must be allowed. Expressions that mix both are refused, as no package has one. */
export function isAllowed(expression: string): boolean {
  const plain = expression.replace(/[()]/g, "").trim();
  const [all, any] = [plain.split(/\s+AND\s+/), plain.split(/\s+OR\s+/)];
  if (all.length > 1 && any.length > 1) return false;
  return any.length > 1 ? any.some((license) => ALLOWED.has(license)) : all.every((license) => ALLOWED.has(license));
}
