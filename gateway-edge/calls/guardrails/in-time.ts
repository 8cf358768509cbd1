import { createContext, Script } from "node:vm";

const ATTEMPTS_MAX = 6;

/** Made once: each run sets `work`, and none begins inside another. */
const sandbox: { work: () => unknown } = { work: () => undefined };
const context = createContext(sandbox);
const script = new Script("work()");

/**
 * Runs synchronous work that can be repeated, and ends it when it has used `ms` of the thread's time: a pattern that backtracks without bound
 * would otherwise hold up every call of the edge. Returns undefined if it was ended.
 */
export function inTime<Result>(ms: number, work: () => Result): { readonly result: Result } | undefined {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const before = usedMs();
    sandbox.work = work;
    try {
      return { result: script.runInContext(context, { timeout: ms * 2 ** attempt }) as Result };
    } catch (error) {
      if ((error as { code?: string }).code !== "ERR_SCRIPT_EXECUTION_TIMEOUT") throw error;
    }
    // The timeout counts real time. On a busy machine that can pass while the thread waits for a processor, which is not the work's fault.
    if (usedMs() - before >= ms * 0.9) return undefined;
  }
  return undefined;
}

function usedMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
