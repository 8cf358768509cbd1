/**
 * Loaded into a service with `--import`: writes the longest time for which its event loop was blocked by one task to the file
 * LOOP_BLOCKS_FILE. It counts CPU time of the thread, so that other load on the machine does not matter. SIGUSR2 resets it.
 */
import { writeFileSync } from "node:fs";

const TICK_MS = 5;
const file = process.env["LOOP_BLOCKS_FILE"] ?? "";
let longestMs = 0;
let atMs = performance.now();
let cpuMs = threadCpuMs();

setInterval(() => {
  const [nowMs, nowCpuMs] = [performance.now(), threadCpuMs()];
  const blockMs = Math.min(nowMs - atMs, nowCpuMs - cpuMs);
  [atMs, cpuMs] = [nowMs, nowCpuMs];
  if (blockMs > longestMs) write(blockMs);
}, TICK_MS).unref();
process.on("SIGUSR2", () => write(0));

function write(blockMs: number): void {
  longestMs = blockMs;
  writeFileSync(file, String(Math.round(blockMs)));
}

function threadCpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
