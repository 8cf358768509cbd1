import type { Learner } from "../compute/tasks/task.ts";

/** A loaded model and its memory. */
export interface ReadyModel {
  readonly learner: Learner;
  readonly bytes: number;
}

/** The loaded models of one thread: those used last, as many as fit. */
export interface ModelCache {
  get(key: string, load: () => ReadyModel): Learner;
  readonly bytes: number;
}

/** Creates a cache. A model larger than the whole cache is loaded for each call. */
export function createModelCache(bytesMax: number): ModelCache {
  const models = new Map<string, ReadyModel>();
  let held = 0;
  return {
    get bytes() {
      return held;
    },
    get(key, load) {
      const known = models.get(key);
      if (known) {
        // A model in use moves to the end of the eviction order.
        models.delete(key);
        models.set(key, known);
        return known.learner;
      }
      const model = load();
      if (model.bytes > bytesMax) return model.learner;
      models.set(key, model);
      held += model.bytes;
      for (const [oldest, { bytes }] of models) {
        if (held <= bytesMax) break;
        models.delete(oldest);
        held -= bytes;
      }
      return model.learner;
    },
  };
}
