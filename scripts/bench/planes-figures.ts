import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { MongoClient } from "mongodb";
import { median } from "./median.ts";
import type { PlaneFigures, PlaneTask, PlaneWork } from "./plane-main.ts";
import { inSeveral } from "./written-documents.ts";

/** Control planes at full rate, at the same time and one after the other. */
export interface PlanesFigures {
  readonly planes: number;
  /** Sums over the planes at the same time; medians of the rounds. */
  readonly rowsPerSecond: number;
  readonly grantsPerSecond: number;
  /**
   * CPU of the planes per 1,000 rows, each while the others wait; median of the rounds. At the same time, processes that share two cores with a replica set
   * slow each other down, which is CPU that no row causes.
   */
  readonly cpuSeconds: number;
  /** That CPU over the one of one plane in the same round; median of the rounds. */
  readonly cpuRatio: number;
  /** The same with all planes at the same time. */
  readonly cpuRatioAtOnce: number;
  /** Transactions that the store began for each that it committed in all rounds: above 1, planes were in each other's way. */
  readonly attempts: number;
  /** Documents that were written in a round, and those of them that two planes wrote. */
  readonly written: number;
  readonly writtenByTwo: readonly string[];
}

interface Measured {
  readonly uri: string;
  /** How many planes are compared. The first is one plane. */
  readonly configurations: readonly number[];
  readonly rounds: number;
  /** What each plane does in a round. */
  readonly rows: number;
  readonly grants: number;
  /** Rows that each plane settles before the first round, so that its code is compiled. */
  readonly warmRows: number;
}

/**
 * Compares numbers of control planes, each with a database and organizations of its own slots. All of them run from the beginning, are warmed alike and are
 * measured in turn, round after round, so that what the machine does besides meets all of them.
 */
export async function measurePlanes({ uri, configurations, rounds, ...work }: Measured): Promise<PlanesFigures[]> {
  const groups = configurations.map((planes) => new PlaneGroup(uri, planes));
  const warm = { rows: work.warmRows, grants: work.grants, isCounted: true };
  const round = { rows: work.rows, grants: work.grants, isCounted: false };
  try {
    for (const group of groups) await group.open();
    for (const group of groups) await group.count(warm);
    for (let number = 0; number < rounds; number++) for (const group of groups) await group.measure(round);
    const [one] = groups;
    return one ? groups.map((group) => group.figures(one)) : [];
  } finally {
    for (const group of groups) group.end();
  }
}

interface Round {
  readonly rowsPerSecond: number;
  readonly grantsPerSecond: number;
  readonly cpuSeconds: number;
  readonly cpuSecondsAtOnce: number;
}

class PlaneGroup {
  readonly #uri: string;
  readonly #children: readonly ChildProcess[];
  readonly #rounds: Round[] = [];
  readonly #transactions = { started: 0, committed: 0 };
  #written: readonly (readonly string[])[] = [];

  constructor(uri: string, planes: number) {
    this.#uri = uri;
    this.#children = Array.from({ length: planes }, () => fork(join(import.meta.dirname, "plane-main.ts")));
  }

  async open(): Promise<void> {
    const planes = this.#children.length;
    const database = `bench_${planes}`;
    await Promise.all(this.#children.map((child, plane) => ask(child, { uri: this.#uri, database, plane, planes } satisfies PlaneTask)));
  }

  async count(work: PlaneWork): Promise<void> {
    this.#written = (await this.#run(work)).map(({ written }) => written);
  }

  async measure(work: PlaneWork): Promise<void> {
    const before = await transactionsOf(this.#uri);
    const figures = await this.#run(work);
    const after = await transactionsOf(this.#uri);
    this.#transactions.started += after.started - before.started;
    this.#transactions.committed += after.committed - before.committed;
    const sum = (name: "rowsPerSecond" | "grantsPerSecond") => figures.reduce((total, each) => total + each[name], 0);
    this.#rounds.push({
      rowsPerSecond: sum("rowsPerSecond"),
      grantsPerSecond: sum("grantsPerSecond"),
      cpuSeconds: meanCpu(await this.#runInTurn(work)),
      cpuSecondsAtOnce: meanCpu(figures),
    });
  }

  cpuOf(name: "cpuSeconds" | "cpuSecondsAtOnce"): number[] {
    return this.#rounds.map((round) => round[name]);
  }

  /** `one` is one plane in the same rounds. */
  figures(one: PlaneGroup): PlanesFigures {
    const ratio = (name: "cpuSeconds" | "cpuSecondsAtOnce") => {
      const ones = one.cpuOf(name);
      return median(this.cpuOf(name).map((cpuSeconds, round) => cpuSeconds / (ones[round] ?? Number.NaN)));
    };
    return {
      planes: this.#children.length,
      rowsPerSecond: Math.round(median(this.#rounds.map(({ rowsPerSecond }) => rowsPerSecond))),
      grantsPerSecond: Math.round(median(this.#rounds.map(({ grantsPerSecond }) => grantsPerSecond))),
      cpuSeconds: median(this.cpuOf("cpuSeconds")),
      cpuRatio: ratio("cpuSeconds"),
      cpuRatioAtOnce: ratio("cpuSecondsAtOnce"),
      attempts: this.#transactions.started / this.#transactions.committed,
      written: new Set(this.#written.flat()).size,
      writtenByTwo: inSeveral(this.#written),
    };
  }

  end(): void {
    for (const child of this.#children) child.kill();
  }

  async #run(work: PlaneWork): Promise<PlaneFigures[]> {
    return Promise.all(this.#children.map((child) => ask<PlaneFigures>(child, work)));
  }

  async #runInTurn(work: PlaneWork): Promise<PlaneFigures[]> {
    const figures: PlaneFigures[] = [];
    for (const child of this.#children) figures.push(await ask<PlaneFigures>(child, work));
    return figures;
  }
}

/** Each plane settles as many rows, so that the mean of their CPU per row is the CPU of all of them per row. */
function meanCpu(figures: readonly PlaneFigures[]): number {
  return figures.reduce((total, { cpuSeconds }) => total + cpuSeconds, 0) / figures.length;
}

/** Sends a message and resolves with the answer. Rejects if the process ends instead. */
async function ask<Answer>(child: ChildProcess, message: object): Promise<Answer> {
  const ended = new AbortController();
  child.send(message);
  try {
    const answers = once(child, "message", { signal: ended.signal }) as Promise<[Answer]>;
    const exits = once(child, "exit", { signal: ended.signal }).then(([code]) => {
      throw new Error(`a plane ended with ${code}`);
    });
    return (await Promise.race([answers, exits]))[0];
  } finally {
    ended.abort();
  }
}

async function transactionsOf(uri: string): Promise<{ started: number; committed: number }> {
  const client = new MongoClient(uri);
  try {
    const { transactions } = await client.db("admin").command({ serverStatus: 1 });
    return { started: Number(transactions.totalStarted), committed: Number(transactions.totalCommitted) };
  } finally {
    await client.close();
  }
}
