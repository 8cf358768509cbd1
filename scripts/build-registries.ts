/**
 * Writes the lists of strategies and of their aggregators, and that of the commands of `gw`: `make generate`. A strategy is a file of common/strategies, exported by the file's
 * name in camel case; its arithmetic has the same name in trainer-node/compute/aggregators. The lists are written and not read from the
 * folders at start, so that they are plain imports: the same in worker threads, tests and the checks of types, imports and dead code.
 */
import { execFileSync } from "node:child_process";
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
writeCommands("gateway-edge/server/reference/gen/gw-commands.ts");

interface CommandNode {
  readonly operation: string | null;
  readonly examples: readonly string[];
  readonly commands: readonly CommandNode[];
}

/** The API reference shows with each operation the command that sends it, from the help of `gw`. */
function writeCommands(path: string): void {
  const help = execFileSync(process.execPath, [join(root, "cli/main.ts"), "help", "--json"], { encoding: "utf8" });
  const lines = new Map<string, string>();
  for (const { operation, examples } of everyNode(JSON.parse(help) as CommandNode)) {
    // An example with an ID says which one; without it the command asks for it on a terminal.
    const line = examples.find((example) => /_1m7f/.test(example)) ?? examples[0];
    if (operation !== null && line !== undefined && !lines.has(operation)) lines.set(operation, line);
  }
  const text = [
    "// Written by scripts/build-registries.ts.",
    "",
    "/** Operations and the command line of each. */",
    `export const GW_COMMANDS: readonly (readonly [operation: string, line: string])[] = ${JSON.stringify([...lines], undefined, 2)};`,
    "",
  ].join("\n");
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

function everyNode(node: CommandNode): CommandNode[] {
  return [node, ...node.commands.flatMap(everyNode)];
}

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
