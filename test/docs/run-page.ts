import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { freePort } from "../helpers/processes.ts";
import { type Block, PROGRAMS, root } from "./blocks.ts";

export interface Stage {
  /** Of the platform; pages have http://127.0.0.1:4000. */
  readonly url: string;
  /** Of its trainer node; pages have port 5000. */
  readonly trainerUrl: string;
  readonly python: string;
  /** What the control plane has logged, which `make run` writes to a file; or the data folder of a start that wrote it. */
  readonly log: (() => string) | { readonly dataFolder: string };
  /** Variables that pages take from the quick start. */
  readonly env: Readonly<Record<string, string>>;
  /** Further texts of the pages and what takes their place. */
  readonly others?: Readonly<Record<string, string>>;
  /** Commands before those of the page. */
  readonly before?: string;
  /** A search that finds nothing, and a reader that stops early, do not fail a pipe of the page. */
  readonly isLookedAt?: true;
}

const PAGE_MS_MAX = 100_000;
const LOG_FILE = "data/logs/control-plane.log";
const LOG_MS = 200;
/** Requests report their status beside their output, because curl succeeds with a refusal. */
const CURL = `#!/bin/bash\nexec $(which -a curl | sed -n 2p) --write-out '%{stderr}@@ %{http_code} %{url_effective}\\n' "$@"\n`;

/** Where programs listen that pages start themselves. Another program of this machine may have these ports. */
const OWN_PORTS = /\b56(?:01|02|11)\b/g;

type PlacedStage = Stage & { readonly ports: ReadonlyMap<string, number> };

/** Runs all programs of a page in order, as one session of a shell, in a folder of its own. Throws with the block that failed. */
export async function runPage(blocks: readonly Block[], stage: Stage): Promise<void> {
  const programs = blocks.filter(({ language, notRun, file }) => notRun === undefined && (PROGRAMS.has(language) || file !== undefined));
  const folder = mkdtempSync(join(tmpdir(), "tributary-page-"));
  const ports = await freePorts();
  try {
    prepare(folder, stage);
    const { code, output } = await shell(folder, scriptOf(programs, { ...stage, ports }, folder), stage);
    const at = lastBlock(output, programs);
    if (code !== 0) throw new Error(`${at?.page}:${at?.line} ends with ${code}:\n${output.slice(-3000)}`);
    for (const problem of refusals(output, programs)) throw new Error(`${problem}\n${output.slice(-3000)}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function freePorts(): Promise<ReadonlyMap<string, number>> {
  return new Map([
    ["5601", await freePort()],
    ["5602", await freePort()],
    ["5611", await freePort()],
  ]);
}

/** What a page finds: this repository's programs, examples and libraries, and a home without any setting. */
function prepare(folder: string, { log }: Stage): void {
  for (const name of ["bin", "examples", "sdk", "node_modules", "trainer-node", "package.json"])
    symlinkSync(join(root, name), join(folder, name));
  if (typeof log === "function") mkdirSync(join(folder, dirname(LOG_FILE)), { recursive: true });
  else symlinkSync(log.dataFolder, join(folder, "data"));
  mkdirSync(join(folder, ".shims"));
  writeFileSync(join(folder, ".shims/curl"), CURL);
  chmodSync(join(folder, ".shims/curl"), 0o755);
}

function scriptOf(programs: readonly Block[], stage: PlacedStage, folder: string): string {
  const parts = programs.map((block, index) => `echo "@@ block ${index}" >&2\n${commandOf(block, index, stage, folder)}`);
  return [
    stage.isLookedAt ? "set -eu" : "set -euo pipefail",
    "trap 'kill $(jobs -p) 2>/dev/null || true' EXIT",
    stage.before ?? ":",
    ...parts,
  ].join("\n");
}

/** A shell's block is part of the session; a program of another language, and a file, is written first. */
function commandOf(block: Block, index: number, stage: PlacedStage, folder: string): string {
  const text = placed(block.text, stage);
  if (block.language === "sh") return text;
  const extension = { python: "py", js: "mjs", ts: "ts" }[block.language] ?? "txt";
  const name = block.file ?? `block-${index}.${extension}`;
  mkdirSync(dirname(join(folder, name)), { recursive: true });
  writeFileSync(join(folder, name), `${text}\n`);
  if (block.file !== undefined) return ":";
  return `${block.language === "python" ? "python3" : "node"} ${name}`;
}

/** The addresses and the key of this start in place of those that a page shows. */
export function placed(text: string, { url, trainerUrl, env, ports, others = {} }: PlacedStage): string {
  return Object.entries(others)
    .reduce((changed, [shown, real]) => changed.replaceAll(shown, real), text)
    .replaceAll(OWN_PORTS, (port) => String(ports.get(port) ?? port))
    .replaceAll("http://127.0.0.1:4000", url)
    .replaceAll(/(http:\/\/)?(127\.0\.0\.1|localhost):5000/g, trainerUrl)
    .replaceAll("sk-...", env["KEY"] ?? "")
    .replaceAll("TOKEN=...", `TOKEN=${env["TOKEN"] ?? ""}`);
}

async function shell(folder: string, script: string, { python, env, url, log }: Stage) {
  const path = [join(folder, ".shims"), join(root, "bin"), dirname(python), dirname(process.execPath), process.env["PATH"]].join(":");
  const child = spawn("bash", ["-c", script], {
    cwd: folder,
    detached: true,
    env: {
      HOME: folder,
      PATH: path,
      GW_API_URL: url,
      NODE_COMPILE_CACHE: join(root, ".cache/compiled"),
      PYTHONPATH: join(root, "sdk/python/src"),
      ...env,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  }
  // The group, because a page may start programs in the background.
  const stopAll = () => child.pid !== undefined && process.kill(-child.pid, "SIGKILL");
  const timer = setTimeout(stopAll, PAGE_MS_MAX);
  const logging = setInterval(() => typeof log === "function" && writeFileSync(join(folder, LOG_FILE), log()), LOG_MS);
  const [code] = (await once(child, "close")) as [number | null];
  clearTimeout(timer);
  clearInterval(logging);
  return { code, output };
}

function lastBlock(output: string, programs: readonly Block[]): Block | undefined {
  const numbers = [...output.matchAll(/^@@ block (\d+)$/gm)].map(([, number]) => Number(number));
  return programs[numbers.at(-1) ?? 0];
}

/** Blocks whose requests were refused otherwise than the page says. */
function refusals(output: string, programs: readonly Block[]): string[] {
  return output
    .split(/^@@ block /m)
    .slice(1)
    .flatMap((part) => {
      const block = programs[Number.parseInt(part, 10)];
      const statuses = [...part.matchAll(/@@ (\d{3}) /g)]
        .map(([, status = ""]) => status)
        .filter((status) => status === "000" || status >= "400");
      const expected = block?.refused ?? [];
      if (statuses.join() === expected.join()) return [];
      return [
        `${block?.page}:${block?.line}: refused with ${statuses.join() || "nothing"}, and the page says ${expected.join() || "nothing"}`,
      ];
    });
}
