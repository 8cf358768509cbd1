import { setTimeout as sleep } from "node:timers/promises";

const LOOK_MS = 250;

/** Whether something becomes true within a time; says so if it does not. */
export async function until(isDone: () => Promise<boolean>, what: string, withinMs: number): Promise<boolean> {
  const end = performance.now() + withinMs;
  while (!(await isDone())) {
    if (performance.now() > end) {
      console.log(`not within ${Math.round(withinMs / 1000)} s: ${what}`);
      return false;
    }
    await sleep(LOOK_MS);
  }
  return true;
}
