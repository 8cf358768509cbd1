import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { readPosition } from "../../control-plane/promote/position.ts";
import type { Promoted } from "../../control-plane/promote/prove.ts";
import type { Store } from "../../control-plane/stores/store.ts";
import { cpuSeconds, processTree, rssMb } from "./cpu.ts";

const GW = join(import.meta.dirname, "../../cli/main.ts");
const LOOK_MS = 50;

interface RunOptions {
  readonly from: string;
  readonly uri: string;
  readonly database: string;
  /** The database, whose record of the position says how far the command is. */
  readonly target: Store;
  /** The number of copied records at which it is killed; undefined: it runs to its end. */
  readonly killAt: number | undefined;
}

export interface PromotionRun {
  readonly seconds: number;
  /** Until it has copied something. */
  readonly startSeconds: number;
  /** Records that are in the database. */
  readonly copied: number;
  readonly cpuSeconds: number;
  readonly peakMb: number;
  /** What it printed at its end. */
  readonly answer: Promoted | undefined;
}

/** Runs `gw admin promote` as a process with the one that it starts, and kills both at a point of the copy. Throws if it fails by itself. */
export async function runPromotion({ from, uri, database, target, killAt }: RunOptions): Promise<PromotionRun> {
  const words = ["admin", "promote", "--from", from, "--to", uri, "--database", database, "--json"];
  const child = spawn(process.execPath, [GW, ...words], { detached: true, stdio: ["ignore", "pipe", "pipe"] });
  const [beganMs, before] = [performance.now(), (await readPosition(target))?.changed ?? 0];
  const seconds = () => (performance.now() - beganMs) / 1000;
  const ended = once(child, "close") as Promise<[number | null, NodeJS.Signals | null]>;
  const [out, err] = [text(child.stdout), text(child.stderr)];
  const cost = new Cost();
  let [copied, startSeconds] = [before, 0];
  while (child.exitCode === null && child.signalCode === null) {
    cost.look(child);
    copied = (await readPosition(target))?.changed ?? copied;
    if (startSeconds === 0 && copied > before) startSeconds = seconds();
    if (killAt !== undefined && copied >= killAt) {
      killGroup(child);
      break;
    }
    await sleep(LOOK_MS);
  }
  const [code, signal] = await ended;
  const isAsWanted = killAt === undefined ? code === 0 : signal === "SIGKILL";
  if (!isAsWanted) throw new Error(`gw admin promote ended with ${code ?? signal}: ${await err}`);
  copied = (await readPosition(target))?.changed ?? copied;
  const answer = killAt === undefined ? (JSON.parse(await out) as Promoted) : undefined;
  return { seconds: seconds(), startSeconds, copied, cpuSeconds: cost.cpuSeconds, peakMb: cost.peakMb, answer };
}

/** CPU and memory of a process and those that it started, as far as they were seen. */
class Cost {
  peakMb = 0;
  readonly #cpu = new Map<number, number>();

  look({ pid }: ChildProcess): void {
    if (pid === undefined) return;
    let sum = 0;
    for (const each of processTree(pid)) {
      try {
        sum += rssMb(each);
        this.#cpu.set(each, cpuSeconds(each));
      } catch (error) {
        // It ended between the list and the look.
        if (!["ENOENT", "ESRCH"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
      }
    }
    this.peakMb = Math.max(this.peakMb, sum);
  }

  get cpuSeconds(): number {
    return [...this.#cpu.values()].reduce((sum, each) => sum + each, 0);
  }
}

/** The command and its tool at the same moment, as a power cut would. */
function killGroup({ pid }: ChildProcess): void {
  if (pid !== undefined) process.kill(-pid, "SIGKILL");
}
