import type { Learner } from "../compute/tasks/task.ts";
import { createModelCache } from "./model-cache.ts";

const ready = (bytes: number) => ({ learner: {} as Learner, bytes });

test("the models asked for last stay, within the bytes there are", () => {
  const cache = createModelCache(100);
  const loads: string[] = [];
  const ask = (key: string, bytes: number) =>
    cache.get(key, () => {
      loads.push(key);
      return ready(bytes);
    });
  ask("a", 40);
  ask("b", 40);
  ask("a", 40);
  ask("c", 40);
  expect(cache.bytes).toBe(80);
  ask("a", 40);
  ask("b", 40);
  expect(loads).toEqual(["a", "b", "c", "b"]);
  expect(cache.bytes).toBeLessThanOrEqual(100);
});

test("a model that is larger than the cache is loaded and evicts no other", () => {
  const cache = createModelCache(100);
  const small = cache.get("small", () => ready(10));
  cache.get("huge", () => ready(101));
  expect(cache.bytes).toBe(10);
  expect(cache.get("small", () => ready(10))).toBe(small);
});
