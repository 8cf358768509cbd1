/** Everything that can be said about the code without running it, two tools at a time. Prints a tool's output only when it fails. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";

interface Tool {
  readonly name: string;
  readonly command: string;
  readonly options: readonly string[];
  /** Its output has figures to be seen in a green run too. */
  readonly alwaysShown?: boolean;
}

interface Outcome {
  readonly passed: boolean;
  readonly output: string;
  readonly tookMs: number;
}

const root = resolve(import.meta.dirname, "..");
const AT_ONCE = 2;
const TOOL_MAX_MS = 600_000;
const bin = (name: string) => join(root, "node_modules/.bin", name);
const FOLDERS = ["common", "control-plane", "gateway-edge", "trainer-node", "cli", "console/src", "scripts", "test"].filter((folder) =>
  existsSync(join(root, folder)),
);

const startedAt = performance.now();
const tools = await chooseTools();
const passed = await runAll(tools);
const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
console.log(`check: ${passed} of ${tools.length} green in ${seconds} s`);
process.exitCode = passed === tools.length ? 0 : 1;

/** Slowest first, so that the two lanes end together. */
async function chooseTools(): Promise<Tool[]> {
  const tools: Tool[] = [
    { name: "types", command: bin("tsc"), options: ["--noEmit", "--pretty", "false"] },
    { name: "types of the console", command: bin("tsc"), options: ["--noEmit", "--pretty", "false", "-p", "console"] },
    {
      name: "imports",
      command: bin("depcruise"),
      options: [...FOLDERS, "--config", ".dependency-cruiser.cjs", "--output-type", "err", "--no-progress"],
    },
    { name: "dead code", command: bin("knip"), options: ["--no-progress", "--no-config-hints"] },
    // The first run counts tests as users. This one finds what only tests use, which looks like a tested feature and is none.
    {
      name: "dead code but for tests",
      command: bin("knip"),
      options: ["--production", "--config", "knip.production.json", "--no-progress", "--no-config-hints"],
    },
    { name: "format and lint", command: bin("biome"), options: ["ci", "--colors=off", "--max-diagnostics=50", "--error-on-warnings", "."] },
    { name: "proto", command: bin("buf"), options: ["lint"] },
    { name: "tidy", command: process.execPath, options: ["scripts/tidy.ts"], alwaysShown: true },
  ];
  // Before the first commit on main there is nothing to be compatible with.
  if (await mainHasProtos())
    tools.push({ name: "proto compatibility", command: bin("buf"), options: ["breaking", "--against", ".git#branch=main"] });
  return tools;
}

async function mainHasProtos(): Promise<boolean> {
  const { passed: known, output } = await runTool({
    name: "",
    command: "git",
    options: ["ls-tree", "-r", "--name-only", "main", "--", "proto"],
  });
  return known && output.includes(".proto");
}

async function runAll(list: readonly Tool[]): Promise<number> {
  const waiting = [...list];
  let green = 0;
  const lane = async () => {
    for (let tool = waiting.shift(); tool !== undefined; tool = waiting.shift()) {
      const outcome = await runTool(tool);
      if (outcome.passed) green += 1;
      print(tool, outcome);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  return green;
}

function runTool({ command, options }: Tool): Promise<Outcome> {
  const began = performance.now();
  const { promise, resolve: settle } = Promise.withResolvers<Outcome>();
  const limits = { cwd: root, timeout: TOOL_MAX_MS, maxBuffer: 64 * 1024 * 1024 };
  execFile(command, options, limits, (error, stdout, stderr) => {
    // A tool that could not be started, or was stopped by the time limit, has said nothing itself.
    const reason = error !== null && typeof error.code !== "number" ? `${error.message}\n` : "";
    settle({ passed: error === null, output: `${stdout}${stderr}${reason}`, tookMs: performance.now() - began });
  });
  return promise;
}

function print({ name, alwaysShown }: Tool, { passed: green, output, tookMs }: Outcome): void {
  console.log(`${green ? "ok  " : "FAIL"} ${name} (${(tookMs / 1_000).toFixed(1)} s)`);
  if (!green || alwaysShown) console.log(output.trimEnd().replace(/^/gm, "     "));
}
