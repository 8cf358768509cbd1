import { spawn } from "node:child_process";
import { once } from "node:events";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../../test/helpers/processes.ts";
import { goalTable } from "./verdict.ts";
import { rssOf, usedBy } from "./windows.ts";

const READY_MS = 60_000;
/** What a start leaves to do, such as compiled code that is written to its cache and garbage that is collected up to ten seconds later, is not idle time. */
const REST_MS = 15_000;
const CPU_SECONDS_MOST = 0.5;
const RSS_MB_MOST = 600;
const START_S_MOST = 2.5;

interface Platform {
  readonly roots: readonly number[];
  readonly startMs: number;
  stop(): Promise<void>;
}

/** A table of what the whole platform of `make run` takes for its second start, and without calls. */
export async function idleSection({ folder, seconds }: { folder: string; seconds: number }): Promise<string> {
  const ports: Record<string, string> = {};
  for (const name of ["PORT", "HOSTED_PORT", "CONTROL_PORT", "TRAINER_PORT", "COORDINATOR_PORT"]) ports[name] = String(await freePort());
  // As `make run` sets it.
  const compiled = { NODE_COMPILE_CACHE: resolve(import.meta.dirname, "../../.cache/compiled") };
  const env = { PATH: process.env["PATH"] ?? "", HOME: folder, DATA_DIR: join(folder, "idle"), EDGES: "1", ...compiled, ...ports };
  const first = await start(env);
  await first.stop();
  const platform = await start(env);
  try {
    await sleep(REST_MS);
    const before = usedBy(platform);
    await sleep(seconds * 1000);
    const used = usedBy(platform) - before;
    const rows = [
      {
        what: "second start of the platform, until all processes are ready",
        value: platform.startMs / 1000,
        unit: "s",
        most: START_S_MOST,
      },
      { what: "idle, per minute", value: (used / seconds) * 60, unit: "CPU-seconds", most: CPU_SECONDS_MOST },
      { what: "memory of all processes, idle", value: rssOf(platform), unit: "MB", most: RSS_MB_MOST },
    ];
    return [
      "## At rest",
      "",
      "All processes of `make run`: supervisor, control plane, one edge, trainer node, coordinator.",
      "",
      goalTable(rows),
    ].join("\n");
  } finally {
    await platform.stop();
  }
}

async function start(env: Readonly<Record<string, string>>): Promise<Platform> {
  const beganMs = performance.now();
  const child = spawn(process.execPath, [resolve(import.meta.dirname, "../run.ts")], { env, stdio: ["ignore", "pipe", "pipe"] });
  const closed = once(child, "close");
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  }
  const stop = async () => {
    child.kill("SIGTERM");
    await closed;
  };
  while (!/^Tributary is ready/m.test(output)) {
    if (child.exitCode !== null || performance.now() - beganMs > READY_MS) {
      await stop();
      throw new Error(`the platform was not ready: ${output.slice(-1000)}`);
    }
    await sleep(10);
  }
  return { roots: [child.pid ?? -1], startMs: performance.now() - beganMs, stop };
}
