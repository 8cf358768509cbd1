/** One line of a run: the invariant, whether it holds, and counts. A broken invariant fails the whole run. */
export function printLine(name: string, { ok, figures }: { ok: boolean; figures: string }): void {
  console.log(`${ok ? "ok  " : "FAIL"} ${name.padEnd(34)} ${figures}`);
  if (!ok) process.exitCode = 1;
}

export function printProblems(problems: readonly string[]): void {
  for (const problem of problems.slice(0, PROBLEMS_MAX)) console.log(`       ${problem}`);
  if (problems.length > PROBLEMS_MAX) console.log(`       and ${problems.length - PROBLEMS_MAX} more`);
}

const PROBLEMS_MAX = 10;

export function counted(value: number): string {
  return value.toLocaleString("en-US");
}

export function seconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(1)} s`;
}
