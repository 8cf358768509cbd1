import { setTimeout as sleep } from "node:timers/promises";
import { createTurns } from "./turns.ts";

const { signal: never } = new AbortController();

test("work runs one at a time, in the order of request, whatever the outcome of the work before", async () => {
  const inTurn = createTurns();
  const seen: string[] = [];
  const work = (name: string, ms: number) => async () => {
    seen.push(`${name} begins`);
    await sleep(ms);
    seen.push(`${name} ends`);
    if (name === "b") throw new Error("b fails");
    return name;
  };
  const asked = [inTurn(work("a", 20), never), inTurn(work("b", 10), never), inTurn(work("c", 0), never)];
  expect((await Promise.allSettled(asked)).map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  expect(seen).toEqual(["a begins", "a ends", "b begins", "b ends", "c begins", "c ends"]);
});

test("a caller that aborts while it waits leaves at once, and the next one still waits for the running work", async () => {
  const inTurn = createTurns();
  const first = Promise.withResolvers<void>();
  let isDone = false;
  const running = inTurn(() => first.promise, never);
  const left = new AbortController();
  const waiting = inTurn(async () => "never", left.signal);
  const next = inTurn(async () => isDone, never);
  left.abort(new Error("left"));
  await expect(waiting).rejects.toThrow("left");
  isDone = true;
  first.resolve();
  await running;
  expect(await next).toBe(true);
});
