import { type Lockfile, type ProductionPackage, productionPackages } from "./production-packages.ts";

/** A software bill of materials of the production dependencies: CycloneDX 1.5. The same lockfile gives the same bytes. */
export function billOfMaterials(lockfile: Lockfile): object {
  const { name, version, packages } = lockfile;
  const purl = packageUrl({ name, version });
  return {
    $schema: "http://cyclonedx.org/schema/bom-1.5.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.5",
    version: 1,
    metadata: { component: { type: "application", "bom-ref": purl, name, version, purl, ...licensesOf(packages[""]?.license) } },
    components: productionPackages(lockfile).map(component),
  };
}

function component(one: ProductionPackage): object {
  const purl = packageUrl(one);
  return {
    type: "library",
    "bom-ref": purl,
    name: one.name,
    version: one.version,
    scope: one.optional ? "optional" : "required",
    purl,
    ...licensesOf(one.license),
    ...hashesOf(one.integrity),
  };
}

/** pkg:npm/%40scope/name@version; the slash after a scope stays a separator. */
function packageUrl({ name, version }: { name: string; version: string }): string {
  return `pkg:npm/${name.split("/").map(encodeURIComponent).join("/")}@${encodeURIComponent(version)}`;
}

function licensesOf(license: string | undefined): object {
  if (license === undefined) return {};
  return { licenses: [/[\s()]/.test(license) ? { expression: license } : { license: { id: license } }] };
}

/** Lockfiles have hashes in base64, CycloneDX in hexadecimal. */
function hashesOf(integrity: string | undefined): object {
  const base64 = /^sha512-([A-Za-z0-9+/=]+)$/.exec(integrity ?? "")?.[1];
  return base64 === undefined ? {} : { hashes: [{ alg: "SHA-512", content: Buffer.from(base64, "base64").toString("hex") }] };
}
