/** Makes V8 print a line about each garbage collection, which `promotedBytes` reads. */
export const TRACE_GC_FLAG = "--trace-gc-nvp";

/** Bytes that young collections moved to the old generation, by the output of a process with `TRACE_GC_FLAG`. */
export function promotedBytes(output: string): number {
  return output
    .split("\n")
    .filter((line) => line.includes(" gc=s "))
    .reduce((sum, line) => sum + Number(/ promoted=(\d+)/.exec(line)?.[1] ?? 0), 0);
}
