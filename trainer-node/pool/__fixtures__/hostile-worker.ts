import { setTimeout as delay } from "node:timers/promises";

/** Does what the first byte of the body says, so that a test can have a worker at its worst. */
export async function runTask(task: { type: string; body?: Uint8Array }): Promise<unknown> {
  switch (String.fromCharCode(task.body?.[0] ?? 0)) {
    case "x":
      return process.exit(3);
    case "t":
      throw new RangeError("thrown by the fixture");
    case "l":
      for (;;);
    case "s":
      await delay(300);
      return { type: "done", body: new TextEncoder().encode("slept") };
    case "m": {
      const kept: number[][] = [];
      for (;;) kept.push(new Array(100_000).fill(1.5));
    }
    case "e":
      return { type: "done", body: new TextEncoder().encode(JSON.stringify(Object.keys(process.env))) };
    default:
      return { type: "done", body: new TextEncoder().encode("fine") };
  }
}
