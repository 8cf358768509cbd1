import { readdirSync, readFileSync } from "node:fs";

/** Seconds of processor time that a process has used so far, in user and kernel. By its threads: the sum of the process is in ticks of 10 ms. */
export function cpuSeconds(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`);
  return (
    threads.reduce((sum, thread) => sum + Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ")[0]), 0) / 1e9
  );
}
