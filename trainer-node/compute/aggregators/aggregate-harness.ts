import { tmpdir } from "node:os";
import { clientOrder } from "../../records/client-order.ts";
import { createClientRecords } from "../../records/client-records.ts";
import { alignTo } from "../clients/segments.ts";
import type { Tensor } from "../tensor.ts";
import { findAggregator } from "./registry.ts";
import { type AggregatedModel, type ClientReport, runAggregator } from "./run-aggregator.ts";

export interface HarnessInput {
  readonly strategy: string;
  readonly clients: readonly (readonly Tensor[])[];
  readonly weights?: readonly number[];
  readonly settings?: Readonly<Record<string, unknown>>;
  readonly base?: readonly Tensor[];
  readonly state?: readonly Tensor[] | undefined;
  /** Bytes of records in memory before the rest goes to disk. */
  readonly memoryBytes?: number;
}

/** Runs a whole aggregation as the node does, without HTTP: records, fixed order, strategy. */
export function aggregateTensors(input: HarnessInput): Omit<AggregatedModel, "reports"> & { reports: ClientReport[] } {
  const aggregator = findAggregator(input.strategy);
  if (!aggregator) throw new Error(`no strategy ${input.strategy}`);
  const records = createClientRecords({ folder: tmpdir(), memoryBytes: input.memoryBytes ?? 2 ** 30 });
  try {
    for (const tensors of input.clients) records.add(records.count === 0 ? tensors : (alignTo(records.segments, tensors) as Tensor[]));
    const weights = input.weights ?? input.clients.map(() => 1);
    const lists = Object.values(input.settings ?? {}).filter(Array.isArray) as number[][];
    const order = clientOrder(records, [...input.clients.keys()], (client) => [
      weights[client] ?? 1,
      ...lists.map((list) => list[client] ?? 0),
    ]);
    const result = runAggregator({
      aggregator,
      records,
      order,
      weights,
      settings: input.settings ?? {},
      base: input.base,
      state: input.state,
    });
    return { ...result, reports: input.clients.map((_, client) => result.reports.get(client) as ClientReport) };
  } finally {
    records.close();
  }
}

export const f32 = (values: readonly number[], name = "w"): Tensor => ({
  name,
  dtype: "f32",
  shape: [values.length],
  data: Float32Array.from(values),
});
export const f64 = (values: readonly number[], name = "w"): Tensor => ({
  name,
  dtype: "f64",
  shape: [values.length],
  data: Float64Array.from(values),
});

/** The five clients of the reference page and their sample counts. */
export const FIVE = [
  [1, 2, 3],
  [2, 3, 4],
  [3, 4, 5],
  [4, 5, 6],
  [100, -100, 50],
] as const;
export const SAMPLES = [10, 20, 30, 40, 100] as const;
