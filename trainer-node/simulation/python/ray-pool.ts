import type { Frame } from "./frames.ts";
import type { PythonPool } from "./python-pool.ts";
import { type PythonProcess, startPythonProcess } from "./python-worker.ts";

interface Waiting {
  resolve(frame: Frame): void;
  reject(reason: unknown): void;
}

/**
 * Python functions in actors of Ray, on this machine or, with the address of a cluster, on many. One process of the SDK, which starts with the first
 * call, passes calls to the actors, many at a time.
 */
export function createRayPool(given: { python: string; file: string; actors: number; address: string | undefined }): PythonPool {
  const waiting = new Map<number, Waiting>();
  let driver: PythonProcess | undefined;
  let ended: Error | undefined;
  let calls = 0;
  const start = (): PythonProcess =>
    startPythonProcess({
      python: given.python,
      file: given.file,
      module: "ray_worker",
      args: ["--actors", `${given.actors}`, ...(given.address === undefined ? [] : ["--address", given.address])],
      onFrame: (frame) => {
        const id = Number(frame.header["id"]);
        waiting.get(id)?.resolve(frame);
        waiting.delete(id);
      },
      onEnd: (reason) => {
        ended ??= reason;
        for (const { reject } of waiting.values()) reject(reason);
        waiting.clear();
      },
    });
  return {
    run: async (header, signal) => {
      signal.throwIfAborted();
      if (ended) throw ended;
      driver ??= start();
      const id = ++calls;
      const { promise, resolve, reject } = Promise.withResolvers<Frame>();
      waiting.set(id, { resolve, reject });
      driver.send({ ...header, id });
      const onAbort = () => {
        if (waiting.delete(id)) driver?.send({ cancel: id });
        reject(signal.reason);
      };
      signal.addEventListener("abort", onAbort, { once: true });
      try {
        return await promise;
      } finally {
        signal.removeEventListener("abort", onAbort);
      }
    },
    // Killed, it would leave Ray's own processes behind.
    close: () => driver?.finish(),
  };
}
