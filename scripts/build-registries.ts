/**
 * Writes the lists of strategies and of their aggregators: `make generate`. A strategy is a file of common/strategies, exported by the file's
 * name in camel case; its arithmetic has the same name in trainer-node/compute/aggregators. The lists are written and not read from the
 * folders at start, so that they are plain imports: the same in worker threads, tests and the checks of types, imports and dead code.
 */
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

const root = resolve(import.meta.dirname, "..");
const DECLARATIONS = "common/strategies";
const AGGREGATORS = "trainer-node/compute/aggregators";

const files = readdirSync(join(root, DECLARATIONS)).filter((name) => /^[a-z0-9-]+\.ts$/.test(name));
write(`${AGGREGATORS}/gen/aggregators.ts`, {
  list: "AGGREGATORS",
  type: ["Aggregator", "../aggregator.ts"],
  files: files.filter((name) => existsSync(join(root, AGGREGATORS, name))),
});
write(`${DECLARATIONS}/gen/strategies.ts`, { list: "STRATEGIES", type: ["Strategy", "../shared/strategy.ts"], files });

function write(
  path: string,
  { list, type: [type, from], files }: { list: string; type: [string, string]; files: readonly string[] },
): void {
  const named = files.toSorted().map((file) => ({ file, name: camelCase(file.slice(0, -".ts".length)) }));
  const text = [
    "// Written by scripts/build-registries.ts.",
    `import type { ${type} } from "${from}";`,
    ...named.map(({ file, name }) => `import { ${name} } from "../${file}";`),
    "",
    `export const ${list}: readonly ${type}[] = [${named.map(({ name }) => name).join(", ")}];`,
    "",
  ].join("\n");
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

function camelCase(text: string): string {
  return text.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
}
