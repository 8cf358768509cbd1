import type { ComputePool } from "./pool.ts";

/** A pool that starts its threads with the first task. */
export function lazyPool(make: () => ComputePool): ComputePool {
  let made: ComputePool | undefined;
  const pool = (): ComputePool => {
    made ??= make();
    return made;
  };
  return {
    run: (task, options) => pool().run(task, options),
    warmUp: () => pool().warmUp(),
    load: () => made?.load() ?? { running: 0, queued: 0, threads: 0 },
    close: async () => made?.close(),
  };
}
