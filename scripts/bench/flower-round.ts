import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../../test/helpers/processes.ts";

const LOOK_MS = 250;
const SUBMIT_MAX_MS = 120_000;

/** Seconds of one round, or a lower bound if it exceeded the time limit. */
export type FlowerRound = { readonly seconds: number } | { readonly longerThanSeconds: number };

/** One round of Flower as deployed: SuperLink and SuperNodes as separate processes on loopback, each client adding a constant. */
export async function flowerRound(python: string, size: { nodes: number; length: number; withinMs: number }): Promise<FlowerRound> {
  const folder = mkdtempSync(join(tmpdir(), "tributary-flower-"));
  const programs = dirname(python);
  const file = join(folder, "seconds");
  const env = {
    PATH: `${programs}${delimiter}${process.env["PATH"] ?? ""}`,
    HOME: folder,
    FLWR_HOME: folder,
    FLWR_TELEMETRY_ENABLED: "0",
    PYTHONDONTWRITEBYTECODE: "1",
    ROUND_SECONDS_FILE: file,
  };
  const port = await freePort();
  const address = `127.0.0.1:${port}`;
  writeFileSync(
    join(folder, "config.toml"),
    `[superlink]\ndefault = "bench"\n[superlink.bench]\naddress = "${address}"\ninsecure = true\n`,
  );
  const start = (name: string, words: readonly string[]) => spawn(join(programs, name), words, { env, cwd: folder, stdio: "ignore" });
  try {
    start("flower-superlink", ["--insecure", "--port", String(port), "--disable-runtime-dependency-installation"]);
    for (let node = 0; node < size.nodes; node++)
      start("flower-supernode", ["--insecure", "--superlink", address, "--port", String(await freePort())]);
    await submit(join(programs, "flwr"), `length=${size.length} nodes=${size.nodes} rounds=1`, env);
    for (const until = Date.now() + size.withinMs; Date.now() < until; await sleep(LOOK_MS)) {
      const [seconds] = linesOf(file);
      if (seconds !== undefined) return { seconds: Number(seconds) };
    }
    return { longerThanSeconds: size.withinMs / 1000 };
  } finally {
    endAll(folder);
    // A process that one of them has just started.
    await sleep(LOOK_MS);
    endAll(folder);
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The SuperLink takes some seconds before it listens, and the CLI takes some more to exit after the run has started. */
async function submit(program: string, config: string, env: Record<string, string>): Promise<void> {
  const words = ["run", join(import.meta.dirname, "flower-app"), "bench", "--run-config", config];
  for (const until = Date.now() + SUBMIT_MAX_MS; ; await sleep(LOOK_MS)) {
    const submission = spawn(program, words, { env, stdio: ["ignore", "pipe", "ignore"] });
    let output = "";
    for await (const text of submission.stdout.setEncoding("utf8")) {
      output += text;
      if (output.includes("Successfully started run")) return;
    }
    if (Date.now() > until) throw new Error(`Flower did not start a run: ${output}`);
  }
}

function linesOf(file: string): string[] {
  try {
    return readFileSync(file, "utf8").split("\n").slice(0, -1);
  } catch {
    return [];
  }
}

/** All processes with this folder in their environment, because Flower's programs start others in separate sessions. */
function endAll(folder: string): void {
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      if (readFileSync(`/proc/${pid}/environ`, "latin1").includes(`FLWR_HOME=${folder}\0`)) process.kill(Number(pid), "SIGKILL");
    } catch {
      // The process has ended, or belongs to another user.
    }
  }
}
