import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { MongoClient } from "mongodb";
import type { PlaneFigures, PlaneTask } from "./plane-main.ts";

export interface PlanesFigures {
  readonly planes: number;
  /** Sums over the planes. */
  readonly rowsPerSecond: number;
  readonly grantsPerSecond: number;
  /** CPU of the planes per 1,000 rows. */
  readonly cpuSeconds: number;
  /** Transactions that the store began for each that it committed: above 1, planes were in each other's way. */
  readonly attempts: number;
}

/** Several control planes on one database, each with organizations of its own slots, at full rate at the same time. */
export async function measurePlanes(
  uri: string,
  { planes, rows, grants }: { planes: number; rows: number; grants: number },
): Promise<PlanesFigures> {
  const children = Array.from({ length: planes }, () => fork(join(import.meta.dirname, "plane-main.ts")));
  try {
    const database = `bench_${planes}`;
    await Promise.all(children.map((child, plane) => prepare(child, { uri, database, plane, planes, rows, grants })));
    const before = await transactionsOf(uri);
    const figures = await Promise.all(children.map(run));
    const after = await transactionsOf(uri);
    const sum = (name: keyof PlaneFigures) => figures.reduce((total, each) => total + each[name], 0);
    return {
      planes,
      rowsPerSecond: Math.round(sum("rowsPerSecond")),
      grantsPerSecond: Math.round(sum("grantsPerSecond")),
      cpuSeconds: sum("cpuSeconds") / planes,
      attempts: (after.started - before.started) / (after.committed - before.committed),
    };
  } finally {
    for (const child of children) child.kill();
  }
}

async function prepare(child: ChildProcess, task: PlaneTask): Promise<void> {
  child.send(task);
  await once(child, "message");
}

async function run(child: ChildProcess): Promise<PlaneFigures> {
  child.send("run");
  const [{ figures }] = (await once(child, "message")) as [{ figures: PlaneFigures }];
  return figures;
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
