import { setImmediate as nextTurn } from "node:timers/promises";
import type { Scope } from "../scopes.ts";
import { ScopeQueues } from "./scope-queues.ts";

/** Works that end when they are told to; `log` has who began. */
function begin(queues: ScopeQueues) {
  const log: string[] = [];
  const ends = new Map<string, () => void>();
  const run = (name: string, scopes: readonly Scope[]) =>
    queues.run(scopes, async () => {
      log.push(name);
      await new Promise<void>((resolve) => void ends.set(name, resolve));
      if (name.startsWith("failing")) throw new Error(name);
      return name;
    });
  const end = async (name: string) => {
    ends.get(name)?.();
    await nextTurn();
  };
  return { log, run, end };
}

test("works of one scope run one after the other, also after a failure; those of another scope and without scope do not wait", async () => {
  const queues = new ScopeQueues(10);
  const { log, run, end } = begin(queues);
  const first = expect(run("failing", ["slot:1"])).rejects.toThrow("failing");
  const rest = [run("second", ["slot:1"]), run("other", ["slot:2"]), run("none", [])];
  await nextTurn();
  expect(log).toEqual(["failing", "other", "none"]);
  await end("failing");
  expect(log).toEqual(["failing", "other", "none", "second"]);
  for (const name of ["second", "other", "none"]) await end(name);
  await first;
  expect(await Promise.all(rest)).toEqual(["second", "other", "none"]);
  expect(queues.size).toBe(0);
});

test("works over the same scopes in any order do not block each other for good", async () => {
  const queues = new ScopeQueues(10);
  const { log, run, end } = begin(queues);
  const works = [run("ab", ["slot:1", "slot:2"]), run("ba", ["slot:2", "slot:1"]), run("b", ["slot:2"]), run("c", ["slot:3"])];
  await nextTurn();
  expect(log).toEqual(["ab", "c"]);
  for (const name of ["ab", "ba", "b", "c"]) await end(name);
  expect(log).toEqual(["ab", "c", "ba", "b"]);
  await Promise.all(works);
});

test("no more run at a time than allowed, and all of them run", async () => {
  const queues = new ScopeQueues(2);
  const { log, run, end } = begin(queues);
  const works = ["a", "b", "c", "d"].map((name) => run(name, []));
  let isIdle = false;
  const idle = queues.idle().then(() => {
    isIdle = true;
  });
  await nextTurn();
  expect(log).toEqual(["a", "b"]);
  await end("b");
  expect(log).toEqual(["a", "b", "c"]);
  for (const name of ["a", "c"]) await end(name);
  expect([log, isIdle]).toEqual([["a", "b", "c", "d"], false]);
  await end("d");
  await Promise.all([...works, idle]);
});
