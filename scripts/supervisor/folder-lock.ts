import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ConfigError } from "../../common/config.ts";

const CONFIRM_MS = 50;

/**
 * One supervisor per data folder. The lock has the process ID and start time of its owner, so that a lock left by a power cut
 * is stale even if another process has the same ID now. Returns the function that releases the lock.
 */
export async function lockFolder(folder: string): Promise<() => void> {
  const path = join(folder, "supervisor.lock");
  const mine = `${process.pid} ${startTime(process.pid) ?? "unknown"}\n`;
  if (!create(path, mine)) {
    refuseLivingOwner(folder, read(path));
    rmSync(path, { force: true });
    create(path, mine);
    // Two supervisors may find the same stale lock; the one whose lock was replaced gives up.
    await sleep(CONFIRM_MS);
    if (read(path) !== mine) throw taken(folder, read(path));
  }
  return () => {
    if (read(path) === mine) rmSync(path, { force: true });
  };
}

function create(path: string, content: string): boolean {
  try {
    writeFileSync(path, content, { flag: "wx", mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

function refuseLivingOwner(folder: string, content: string): void {
  const [pid = "", started = ""] = content.trim().split(" ");
  const owner = Number(pid);
  if (!Number.isSafeInteger(owner) || owner <= 0 || owner === process.pid || !isAlive(owner)) return;
  const actual = startTime(owner);
  if (actual === undefined || started === "unknown" || actual === started) throw taken(folder, content);
}

const taken = (folder: string, content: string) =>
  new ConfigError([
    `DATA_DIR: ${folder} is in use by another supervisor (process ${content.split(" ")[0]}); stop it or set DATA_DIR to another folder`,
  ]);

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM means that the process exists.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** Start time of a process in clock ticks since boot, field 22 of /proc/PID/stat; undefined without /proc. */
function startTime(pid: number): string | undefined {
  const stat = read(`/proc/${pid}/stat`);
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
}
