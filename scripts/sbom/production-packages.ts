/** An entry of package-lock.json. */
interface LockedPackage {
  readonly name?: string;
  readonly version?: string;
  readonly license?: string;
  readonly integrity?: string;
  /** Installed only with the development dependencies. */
  readonly dev?: boolean;
  /** An installation does not fail without it: binaries of one platform. */
  readonly optional?: boolean;
}

/** package-lock.json, as far as it is used here. */
export interface Lockfile {
  readonly name: string;
  readonly version: string;
  /** By installation path; the project itself is "". */
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

/** A package that services need, once per version. */
export interface ProductionPackage {
  readonly name: string;
  readonly version: string;
  /** An SPDX identifier or expression; absent if the package declares none. */
  readonly license: string | undefined;
  /** Subresource integrity, such as `sha512-…`. */
  readonly integrity: string | undefined;
  readonly optional: boolean;
}

/** Licenses of packages whose package.json has only the obsolete field `licenses`, which lockfiles omit; checked by hand for this version. */
const CHECKED_LICENSES: Readonly<Record<string, string>> = {
  "busboy@1.6.0": "MIT",
  "streamsearch@1.1.0": "MIT",
};

const FOLDER = "node_modules/";

/** The packages of the lockfile without those for development, by name and version. */
export function productionPackages({ packages }: Lockfile): ProductionPackage[] {
  const found = new Map<string, ProductionPackage>();
  for (const [path, locked] of Object.entries(packages)) {
    if (path === "" || locked.dev || locked.version === undefined) continue;
    const name = locked.name ?? path.slice(path.lastIndexOf(FOLDER) + FOLDER.length);
    const key = `${name}@${locked.version}`;
    // A package is optional only if no installation of it is required.
    const optional = (locked.optional ?? false) && (found.get(key)?.optional ?? true);
    const license = locked.license ?? CHECKED_LICENSES[key];
    found.set(key, { name, version: locked.version, license, integrity: locked.integrity, optional });
  }
  return [...found].sort(([left], [right]) => (left < right ? -1 : 1)).map(([, one]) => one);
}
