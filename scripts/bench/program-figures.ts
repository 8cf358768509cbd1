import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";

const SAMPLE_MS = 250;
const TICKS_PER_SECOND = 100;
const PAGE_BYTES = 4096;
const MARK = "BENCH_PROGRAM";

/** What a program and all processes that it started used, those included that are not its children any more. */
export interface ProgramFigures {
  readonly stdout: string;
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly peakMb: number;
  /** True if it was ended after `maxMs`. */
  readonly isLate: boolean;
}

/** Runs a program and samples the processes that inherited its environment, which holds for daemons such as Ray's, too. */
export async function measureProgram(
  program: string,
  args: readonly string[],
  { env, maxMs, input = "" }: { env: NodeJS.ProcessEnv; maxMs: number; input?: string },
): Promise<ProgramFigures> {
  const mark = `${process.pid}-${performance.now()}`;
  const began = performance.now();
  const child = spawn(program, args, { env: { ...env, [MARK]: mark }, stdio: ["pipe", "pipe", "ignore"] });
  const closed = once(child, "close");
  let [stdout, isOver, peakBytes] = ["", false, 0];
  child.stdout.on("data", (chunk) => {
    stdout += String(chunk);
  });
  void closed.then(() => {
    isOver = true;
  });
  child.stdin.end(input);
  const ours = new Map<number, { isOurs: boolean; ticks: number }>();
  while (!isOver && performance.now() - began < maxMs) {
    peakBytes = Math.max(peakBytes, sample(ours, `${MARK}=${mark}`));
    await Promise.race([closed, pause(SAMPLE_MS)]);
  }
  const seconds = (performance.now() - began) / 1000;
  const isLate = !isOver;
  if (isLate) for (const [pid, { isOurs }] of ours) if (isOurs) end(pid);
  await closed;
  const ticks = [...ours.values()].reduce((sum, one) => sum + one.ticks, 0);
  return { stdout, seconds, cpuSeconds: ticks / TICKS_PER_SECOND, peakMb: peakBytes / 1e6, isLate };
}

/** Reads the times of all marked processes. Returns their resident bytes. */
function sample(known: Map<number, { isOurs: boolean; ticks: number }>, mark: string): number {
  let bytes = 0;
  for (const name of readdirSync("/proc")) {
    const pid = Number(name);
    if (!Number.isInteger(pid)) continue;
    const one = known.get(pid) ?? { isOurs: textOf(`/proc/${pid}/environ`).includes(mark), ticks: 0 };
    known.set(pid, one);
    if (!one.isOurs) continue;
    const fields = textOf(`/proc/${pid}/stat`).split(") ")[1]?.split(" ") ?? [];
    one.ticks = Math.max(one.ticks, Number(fields[11] ?? 0) + Number(fields[12] ?? 0));
    bytes += Number(fields[21] ?? 0) * PAGE_BYTES;
  }
  return bytes;
}

/** A process may end between two reads. */
function textOf(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}

function end(pid: number): void {
  if (textOf(`/proc/${pid}/stat`) !== "") process.kill(pid, "SIGKILL");
}
