import type { ComputePool } from "./pool.ts";

/** A pool that is made when it is first asked for something: threads that nobody needs are not started. */
export function lazyPool(make: () => ComputePool): ComputePool {
  let made: ComputePool | undefined;
  const pool = (): ComputePool => {
    made ??= make();
    return made;
  };
  return {
    run: (task, options) => pool().run(task, options),
    warmUp: () => pool().warmUp(),
    load: () => made?.load() ?? { running: 0, queued: 0 },
    close: async () => made?.close(),
  };
}
