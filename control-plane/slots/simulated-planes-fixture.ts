import type { Clock } from "../../common/clock.ts";
import { silentLogger } from "../../common/logger.ts";
import type { OwnershipRows } from "../stores/ownership-rows.ts";
import { memoryRows } from "./memory-rows-fixture.ts";
import { Ownership } from "./ownership.ts";

interface Task {
  readonly atMs: number;
  readonly order: number;
  readonly plane: SimulatedPlane;
  readonly run: () => void;
}

/** A control plane in the simulation. A paused one runs nothing; what it waited for happens when it wakes. */
export interface SimulatedPlane {
  readonly slots: Ownership;
  isPaused: boolean;
  isDead: boolean;
  /** Its requests and their answers do not arrive. */
  isCutOff: boolean;
}

/** Several planes over rows with delays, in one thread and without real time. The same seed gives the same run. */
export class SimulatedPlanes {
  readonly planes: SimulatedPlane[] = [];
  nowMs = 0;
  readonly #rows: OwnershipRows;
  readonly #count: number;
  readonly #check: (world: SimulatedPlanes) => void;
  #tasks: Task[] = [];
  #order = 0;
  #seed: number;

  /** `check` runs after every step. */
  constructor({ count, seed, check }: { count: number; seed: number; check: (world: SimulatedPlanes) => void }) {
    this.#rows = memoryRows(count);
    this.#count = count;
    this.#seed = seed;
    this.#check = check;
  }

  /** A number below `limit`. */
  random(limit: number): number {
    // Numerical Recipes' generator: the high bits are good enough here.
    this.#seed = (Math.imul(this.#seed, 1664525) + 1013904223) >>> 0;
    return Math.floor((this.#seed / 2 ** 32) * limit);
  }

  /** Starts a plane; its first slots come with the next steps. */
  start(id: string): SimulatedPlane {
    const plane: Omit<SimulatedPlane, "slots"> & { slots?: Ownership } = { isPaused: false, isDead: false, isCutOff: false };
    const self = { id, address: `${id}:4100` };
    const clock = this.#clockOf(plane as SimulatedPlane);
    const rows = this.#rowsOf(plane as SimulatedPlane);
    const slots = new Ownership({ rows, clock, logger: silentLogger, self, count: this.#count });
    plane.slots = slots;
    this.planes.push(plane as SimulatedPlane);
    void slots.start();
    return plane as SimulatedPlane;
  }

  /** The planes that may grant something of a slot now. */
  owners(slot: number): SimulatedPlane[] {
    return this.planes.filter(({ slots, isDead }) => !isDead && slots.isOwned(slot));
  }

  async advance(milliseconds: number): Promise<void> {
    const untilMs = this.nowMs + milliseconds;
    await settleWork();
    for (let task = this.#next(untilMs); task; task = this.#next(untilMs)) {
      this.#tasks = this.#tasks.filter((other) => other !== task);
      this.nowMs = Math.max(this.nowMs, task.atMs);
      task.run();
      await settleWork();
      this.#check(this);
    }
    this.nowMs = untilMs;
    this.#check(this);
  }

  #next(untilMs: number): Task | undefined {
    return this.#tasks
      .filter(({ atMs, plane }) => atMs <= untilMs && !plane.isPaused && !plane.isDead)
      .sort((left, right) => left.atMs - right.atMs || left.order - right.order)[0];
  }

  #after(plane: SimulatedPlane, milliseconds: number, run: () => void): () => void {
    const task: Task = { atMs: this.nowMs + milliseconds, order: this.#order++, plane, run };
    this.#tasks.push(task);
    return () => {
      this.#tasks = this.#tasks.filter((other) => other !== task);
    };
  }

  #clockOf(plane: SimulatedPlane): Clock {
    return {
      now: () => this.nowMs,
      monotonicMs: () => this.nowMs,
      sleep: (milliseconds, signal) =>
        new Promise((resolve, reject) => {
          const cancel = this.#after(plane, milliseconds, resolve);
          const aborted = () => {
            cancel();
            reject(signal?.reason);
          };
          if (signal?.aborted) aborted();
          else signal?.addEventListener("abort", aborted);
        }),
      after: (milliseconds, wake) => this.#after(plane, milliseconds, wake),
    };
  }

  /** Each request and each answer takes a moment, sometimes a long one; while the plane is cut off, it fails after a while. */
  #rowsOf(plane: SimulatedPlane): OwnershipRows {
    const travel = () =>
      new Promise<void>((resolve, reject) => {
        const arrive = () => (plane.isCutOff ? void this.#after(plane, 1_000, () => reject(new Error("no answer"))) : resolve());
        this.#after(plane, this.random(20) === 0 ? this.random(1_500) : 1 + this.random(20), arrive);
      });
    const delayed =
      <Given extends unknown[], Answer>(operation: (...given: Given) => Promise<Answer>) =>
      async (...given: Given): Promise<Answer> => {
        await travel();
        const answer = await operation(...given);
        await travel();
        return answer;
      };
    const { beat, remove, planes, slots, take, giveUp } = this.#rows;
    return {
      beat: delayed(beat),
      remove: delayed(remove),
      planes: delayed(planes),
      slots: delayed(slots),
      take: delayed(take),
      giveUp: delayed(giveUp),
    };
  }
}

async function settleWork(): Promise<void> {
  for (let turn = 0; turn < 2; turn++) await new Promise((resolve) => setImmediate(resolve));
}
