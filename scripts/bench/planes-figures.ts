import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { MongoClient } from "mongodb";
import { median } from "./median.ts";
import type { PlaneFigures, PlaneTask, PlaneWork } from "./plane-main.ts";
import { inSeveral } from "./written-documents.ts";

/** Control planes at full rate at the same time. */
export interface PlanesFigures {
  readonly planes: number;
  /** Sums over the planes; medians of the rounds. */
  readonly rowsPerSecond: number;
  readonly grantsPerSecond: number;
  /** CPU of all planes per 1,000 rows; median of the rounds. */
  readonly cpuSeconds: number;
  /** That CPU over the one of one plane in the same round; median of the rounds. */
  readonly cpuRatio: number;
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
    const one = groups[0]?.cpuSeconds ?? [];
    return groups.map((group) => group.figures(one));
  } finally {
    for (const group of groups) group.end();
  }
}

class PlaneGroup {
  readonly #uri: string;
  readonly #children: readonly ChildProcess[];
  readonly #rounds: { readonly rowsPerSecond: number; readonly grantsPerSecond: number; readonly cpuSeconds: number }[] = [];
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
    const sum = (name: "rowsPerSecond" | "grantsPerSecond" | "cpuSeconds") => figures.reduce((total, each) => total + each[name], 0);
    // Each plane settles as many rows, so that the mean of their CPU per row is the CPU of all of them per row.
    const cpuSeconds = sum("cpuSeconds") / figures.length;
    this.#rounds.push({ rowsPerSecond: sum("rowsPerSecond"), grantsPerSecond: sum("grantsPerSecond"), cpuSeconds });
  }

  get cpuSeconds(): number[] {
    return this.#rounds.map(({ cpuSeconds }) => cpuSeconds);
  }

  /** `one` is the CPU of one plane in the same rounds. */
  figures(one: readonly number[]): PlanesFigures {
    return {
      planes: this.#children.length,
      rowsPerSecond: Math.round(median(this.#rounds.map(({ rowsPerSecond }) => rowsPerSecond))),
      grantsPerSecond: Math.round(median(this.#rounds.map(({ grantsPerSecond }) => grantsPerSecond))),
      cpuSeconds: median(this.cpuSeconds),
      cpuRatio: median(this.cpuSeconds.map((cpuSeconds, round) => cpuSeconds / (one[round] ?? Number.NaN))),
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
