import { setTimeout as sleep } from "node:timers/promises";
import { rssMb } from "./cpu.ts";

/** What an edge shows of itself at an instant. */
export interface EdgeSample {
  readonly unsettled: number;
  readonly rssMb: number;
}

interface EdgeSamples {
  end(): Promise<EdgeSample[]>;
}

const SAMPLE_MS = 1000;
const SETTLED_MS = 60_000;
/** A scrape takes an edge about 5 ms of CPU, which is no part of what calls cost. After this time all of them are usually settled. */
const FIRST_LOOK_MS = 400;

/** Reads the metrics of an edge. */
export function watchEdge({ metricsPort, pid }: { metricsPort: number; pid: number }): { begin(): EdgeSamples; settled(): Promise<void> } {
  const unsettled = async () => {
    const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
    return Number(/^tributary_settlements_pending(?:\{[^}]*\})? (\S+)/m.exec(text)?.[1]);
  };
  return {
    /** A sample each second until the end. */
    begin() {
      const samples: EdgeSample[] = [];
      let isOver = false;
      const sampling = (async () => {
        while (!isOver) {
          samples.push({ unsettled: await unsettled(), rssMb: Math.round(rssMb(pid)) });
          await sleep(SAMPLE_MS);
        }
      })();
      return {
        async end() {
          isOver = true;
          await sampling;
          return samples;
        },
      };
    },
    async settled() {
      const untilMs = performance.now() + SETTLED_MS;
      await sleep(FIRST_LOOK_MS);
      while ((await unsettled()) > 0) {
        if (performance.now() > untilMs) throw new Error(`calls were not settled within ${SETTLED_MS / 1000} s`);
        await sleep(50);
      }
    },
  };
}
