import { setTimeout as sleep } from "node:timers/promises";
import { type Chance, chance } from "../faults/chance.ts";

/** Something that reads bytes of strangers. */
export interface FuzzTarget {
  readonly name: string;
  /** Its part of all cases, relative to the other targets. */
  readonly share: number;
  /** Cases at the same time; 1 if absent. */
  readonly atOnce?: number;
  make(random: Chance): Buffer;
  /** Throws if the input has an effect that no input may have. */
  check(input: Buffer): void | Promise<void>;
}

export interface FuzzOptions {
  readonly seed: number;
  readonly cases: number;
  /** No case begins after it. */
  readonly budgetMs: number;
}

export interface FuzzOutcome {
  readonly name: string;
  readonly cases: number;
  readonly tookMs: number;
  /** Each with the seed and the input that repeat it. */
  readonly failures: readonly string[];
}

const HANG_MS = 10_000;
/** The rest would only repeat them. */
const FAILURES_MAX = 10;

export async function runTarget(target: FuzzTarget, { seed, cases, budgetMs }: FuzzOptions): Promise<FuzzOutcome> {
  const startedMs = performance.now();
  const failures: string[] = [];
  let next = 0;
  const worker = async () => {
    while (next < cases && failures.length < FAILURES_MAX && performance.now() - startedMs < budgetMs) {
      const problem = await runCase(target, seed, next++);
      if (problem !== undefined) failures.push(problem);
    }
  };
  await Promise.all(Array.from({ length: target.atOnce ?? 1 }, worker));
  return { name: target.name, cases: next, tookMs: performance.now() - startedMs, failures };
}

/** Runs one case by its number; returns what is wrong. */
export async function runCase(target: FuzzTarget, seed: number, index: number): Promise<string | undefined> {
  const input = target.make(chance(Math.imul(seed, 1_000_003) + index));
  const startedMs = performance.now();
  const given = new AbortController();
  try {
    const hang = sleep(HANG_MS, undefined, { signal: given.signal, ref: false }).then(() => Promise.reject(new Error("it hangs")));
    await Promise.race([(async () => target.check(input))(), hang]);
    const tookMs = performance.now() - startedMs;
    if (tookMs > HANG_MS) throw new Error(`it took ${Math.round(tookMs)} ms`);
    return undefined;
  } catch (error) {
    const problem = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return `${target.name}: ${problem}\n  again: make fuzz ARGS="--target ${target.name} --seed ${seed} --case ${index}"\n  input: ${input.toString("base64")}`;
  } finally {
    given.abort();
  }
}
