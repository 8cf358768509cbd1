import { call } from "../../test/helpers/api.ts";
import { print } from "./print-curve.ts";

const WIDTH = 40;
const LOOK_MS = 250;

/** Progress of a federation: a moving bar on a terminal, and a line per quarter elsewhere. */
export function showProgress({ url, token, id, rounds }: { url: string; token: string; id: string; rounds: number }): {
  stop(): Promise<void>;
} {
  let isOver = false;
  let shown = -1;
  const draw = (done: number, state: string): void => {
    const bar = "█".repeat(Math.round((done / rounds) * WIDTH)).padEnd(WIDTH, "░");
    const line = `  ${bar}  ${done}/${rounds} rounds  ${state}`;
    if (process.stdout.isTTY) process.stdout.write(`\r${line.padEnd(80)}`);
    else if (Math.floor((done * 4) / rounds) > shown) print(line);
    shown = Math.floor((done * 4) / rounds);
  };
  const loop = (async () => {
    while (!isOver) {
      const { body } = await call(url, "GET", `/training/federations/${id}`, { token });
      if (body?.federation) draw(body.federation.head?.round ?? 0, body.federation.phase ?? body.federation.state);
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
  })();
  return {
    stop: async () => {
      isOver = true;
      await loop;
      draw(rounds, "done");
      if (process.stdout.isTTY) process.stdout.write("\n");
    },
  };
}
