import type { Learner } from "../compute/tasks/task.ts";

/** A model ready to answer, and what it takes. */
export interface ReadyModel {
  readonly learner: Learner;
  readonly bytes: number;
}

/** The models that one thread keeps ready: those asked for last, as many as fit. */
export interface ModelCache {
  get(key: string, load: () => ReadyModel): Learner;
  readonly bytes: number;
}

/** One that is larger than the whole cache answers too; it is only not kept. */
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
        // To the end of the order in which they leave.
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
