import { readdirSync, readFileSync } from "node:fs";

/** CPU seconds of a process so far, in user and kernel mode. Summed over its threads, because the value of the process has ticks of 10 ms. */
export function cpuSeconds(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`);
  return (
    threads.reduce((sum, thread) => sum + Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ")[0]), 0) / 1e9
  );
}
