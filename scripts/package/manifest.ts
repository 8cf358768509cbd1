interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly license: string;
  readonly engines: object;
  readonly dependencies: Readonly<Record<string, string>>;
}

interface Lockfile {
  readonly packages: Readonly<Record<string, { readonly version?: string }>>;
}

/** The package.json of the package: dependencies are of the versions that were tested, and programs are compiled. */
export function packageManifest(source: Manifest, lockfile: Lockfile): object {
  const { name, version, description, license, engines } = source;
  const dependencies = Object.keys(source.dependencies).map((library) => [library, lockedVersion(library, lockfile)]);
  return {
    name,
    version,
    description,
    license,
    type: "module",
    engines,
    bin: { tributary: "scripts/tributary.js", gw: "cli/main.js" },
    exports: { "./participant": "./trainer-node/sdk.js", "./package.json": "./package.json" },
    dependencies: Object.fromEntries(dependencies),
  };
}

function lockedVersion(library: string, { packages }: Lockfile): string {
  const version = packages[`node_modules/${library}`]?.version;
  if (version === undefined) throw new Error(`${library} is not in package-lock.json`);
  return version;
}
