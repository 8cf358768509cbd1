import type { Frame } from "./frames.ts";
import { type PythonWorker, startPythonWorker } from "./python-worker.ts";

/** A few Python processes that share the calls of all virtual clients. */
export interface PythonPool {
  /** Runs a call in the next idle process. A call that is aborted ends its process, because a function cannot be stopped otherwise. */
  run(header: object, signal: AbortSignal): Promise<Frame>;
  close(): void;
}

/** Creates the pool; processes start with the first calls and stay. */
export function createPythonPool({ python, file, processes }: { python: string; file: string; processes: number }): PythonPool {
  const idle: PythonWorker[] = [];
  const all = new Set<PythonWorker>();
  const waiting: (() => void)[] = [];
  let running = 0;
  const take = async (): Promise<PythonWorker> => {
    if (running >= processes) await new Promise<void>((resolve) => waiting.push(resolve));
    running++;
    const known = idle.pop();
    if (known) return known;
    const started = startPythonWorker({ python, file });
    all.add(started);
    return started;
  };
  const drop = (worker: PythonWorker): void => {
    worker.kill();
    all.delete(worker);
  };
  return {
    run: async (header, signal) => {
      const worker = await take();
      const { promise: aborted, reject } = Promise.withResolvers<never>();
      const onAbort = () => reject(signal.reason);
      signal.addEventListener("abort", onAbort, { once: true });
      try {
        signal.throwIfAborted();
        const answer = await Promise.race([worker.ask(header), aborted]);
        idle.push(worker);
        return answer;
      } catch (thrown) {
        drop(worker);
        throw thrown;
      } finally {
        signal.removeEventListener("abort", onAbort);
        running--;
        waiting.shift()?.();
      }
    },
    close: () => {
      for (const worker of all) worker.kill();
    },
  };
}
