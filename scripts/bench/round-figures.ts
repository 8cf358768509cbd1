import { call, newTenant } from "../../test/helpers/api.ts";
import { federationWhen, startTrainer } from "../../test/helpers/federations.ts";
import { startSystem } from "../../test/helpers/system.ts";
import { flowerRound } from "./flower-round.ts";

type Print = (what: string, value: number, aim: string) => void;

const NODES = 10;
const FLOWER_MAX_MS = 90_000;
const TINY_ROUNDS = 20;
const TINY_WITHIN_MS = 120_000;

/** The duration of the same round in Flower divided by ours: both from selection to the new model, over loopback. */
export async function printFlowerRound(print: Print, options: { python: string; length: number; ourSeconds: number }): Promise<void> {
  const { python, length, ourSeconds } = options;
  const round = await flowerRound(python, { nodes: NODES, length, withinMs: FLOWER_MAX_MS });
  const name = `a round of ${NODES} x ${length} by Flower (a SuperLink and ${NODES} SuperNodes)`;
  if ("seconds" in round) {
    print(`${name}, over ours (wall)`, round.seconds / ourSeconds, "at least 10");
    print("  the same in seconds", round.seconds, "");
  } else {
    print(
      `${name} was not done after ${round.longerThanSeconds} s: over ours it is more than`,
      round.longerThanSeconds / ourSeconds,
      "at least 10",
    );
  }
}

/** Rounds with almost no work on two nodes as real processes, so that the figure is the overhead of a round. */
export async function printTinyRounds(print: Print): Promise<void> {
  const system = await startSystem({ coordinator: true, env: { LOG_LEVEL: "warn", COORDINATOR_POLL_MS: "50" } });
  const nodes: Awaited<ReturnType<typeof startTrainer>>[] = [];
  try {
    for (let node = 0; node < 2; node++) nodes.push(await startTrainer({ LOG_LEVEL: "warn" }));
    const { token } = await newTenant(system, { name: "bench" });
    const { body } = await call(system.url, "POST", "/training/federations", {
      token,
      body: {
        task: {
          name: "linear",
          config: { epochs: 1, batch_size: 4, lr: 0.01, seed: 1 },
          dataset: { x: [[1, 2], [3, 4], [5, 6], [7, 8]], y: [1, 2, 3, 4] }, // biome-ignore format: a matrix.
        },
        // The first round opens connections and compiles code.
        rounds: TINY_ROUNDS + 1,
        eval: { mode: "none" },
        participants: nodes.map(({ url }) => ({ url })),
      },
    });
    const { id } = body.federation;
    await federationWhen(system, { token, id, withinMs: TINY_WITHIN_MS });
    const { body: rounds } = await call(system.url, "GET", `/training/federations/${id}/rounds?limit=100`, { token });
    const last = rounds.data.slice(-TINY_ROUNDS) as { openedAt: string; committedAt: string }[];
    const durations = last.map(({ openedAt, committedAt }) => Date.parse(committedAt) - Date.parse(openedAt)).sort((a, b) => a - b);
    print(`a round of two tiny nodes, milliseconds (median of ${durations.length})`, durations[durations.length >> 1] ?? 0, "at most 50");
    print("  the least of them", durations[0] ?? 0, "");
  } finally {
    await system.stop();
    await Promise.all(nodes.map(({ process }) => process.stop()));
  }
}
