import { tmpdir } from "node:os";
import { encodeParameters } from "../../trainer-node/codec/parameters.ts";
import { findAggregator } from "../../trainer-node/compute/aggregators/registry.ts";
import { runAggregator } from "../../trainer-node/compute/aggregators/run-aggregator.ts";
import { createResultArrays } from "../../trainer-node/compute/clients/result-arrays.ts";
import { createVectors } from "../../trainer-node/compute/clients/vectors.ts";
import { createKernels } from "../../trainer-node/compute/kernels/create-kernels.ts";
import type { Kernels } from "../../trainer-node/compute/kernels/kernels.ts";
import { createPlainKernels } from "../../trainer-node/compute/kernels/plain-kernels.ts";
import { createRandom } from "../../trainer-node/compute/random.ts";
import { dense } from "../../trainer-node/compute/tasks/network/dense.ts";
import { softmaxLoss } from "../../trainer-node/compute/tasks/network/loss.ts";
import { createNetwork } from "../../trainer-node/compute/tasks/network/network.ts";
import { relu } from "../../trainer-node/compute/tasks/network/relu.ts";
import { createClientRecords, type OpenRecords } from "../../trainer-node/records/client-records.ts";

/** As a thread of the node holds them. */
const RESULT_BYTES_KEPT = 100 * 1024 * 1024;

export interface Cost {
  readonly wallSeconds: number;
  readonly cpuSeconds: number;
}

const NEVER: Cost = { wallSeconds: Number.POSITIVE_INFINITY, cpuSeconds: Number.POSITIVE_INFINITY };

function lesser(left: Cost, right: Cost): Cost {
  return { wallSeconds: Math.min(left.wallSeconds, right.wallSeconds), cpuSeconds: Math.min(left.cpuSeconds, right.cpuSeconds) };
}

/** The minimum of several runs, because other load can only add time. */
export function measure(work: () => void, runs = 5): Cost {
  let best = NEVER;
  for (let run = 0; run < runs; run++) {
    const since = startMeasure();
    work();
    best = lesser(best, since());
  }
  return best;
}

/** The same for asynchronous work. */
export async function measureWaiting(work: () => Promise<void>, runs = 5): Promise<Cost> {
  let best = NEVER;
  for (let run = 0; run < runs; run++) {
    const since = startMeasure();
    await work();
    best = lesser(best, since());
  }
  return best;
}

function startMeasure(): () => Cost {
  const [startedMs, cpu] = [performance.now(), process.cpuUsage()];
  return () => {
    const used = process.cpuUsage(cpu);
    return { wallSeconds: (performance.now() - startedMs) / 1000, cpuSeconds: (used.user + used.system) / 1e6 };
  };
}

/** Fills the array with a client's vector, different for each client. */
function fillClient(values: Float32Array<ArrayBuffer>, client: number): Float32Array<ArrayBuffer> {
  let state = client * 2_654_435_761 + 1;
  for (let index = 0; index < values.length; index++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    values[index] = state / 2 ** 31;
  }
  return values;
}

function recordsOf(clients: number, length: number, memoryBytes: number): OpenRecords {
  const records = createClientRecords({ folder: tmpdir(), memoryBytes, results: createResultArrays(RESULT_BYTES_KEPT) });
  const values = new Float32Array(length);
  for (let client = 0; client < clients; client++)
    records.add([{ name: "w", dtype: "f32", shape: [length], data: fillClient(values, client) }]);
  return records;
}

export interface AggregateFigures {
  /** Every input read once, by a sum kernel of the same kind. */
  readonly read: Cost;
  /** Every input copied once to a block that stays in the CPU cache: the read speed of the system's memory copy. */
  readonly copy: Cost;
  readonly mean: Cost;
}

/** From memory, on a warm thread of the node. The three alternate, so that other load affects all of them equally. */
export function aggregateFigures(clients: number, length: number): AggregateFigures {
  const records = recordsOf(clients, length, Number.MAX_SAFE_INTEGER);
  const order = [...Array(clients).keys()];
  const weights = order.map((client) => client + 1);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const [segment] = records.segments;
  if (!segment) throw new Error("a record without a tensor");
  const kernels = createKernels(0, records.memory);
  const block = new Uint8Array(65_536);
  const { top } = records.memory;
  const read = (): void => {
    for (const client of order) kernels.allFinite(new Float32Array(records.memory.buffer, records.place(client, segment), length));
  };
  const copy = (): void => {
    for (const client of order) {
      for (let start = 0; start < length; start += block.byteLength / 4) {
        const size = Math.min(block.byteLength, (length - start) * 4);
        records.read(client, segment, start, block.subarray(0, size));
      }
    }
  };
  const mean = (): void => {
    createVectors(records, order).combine(weights, { divisor: total, within: true });
    records.results.release();
    records.memory.release(top);
  };
  const figures = { read: NEVER, copy: NEVER, mean: NEVER };
  for (let run = 0; run < 9; run++) {
    for (const [name, work] of Object.entries({ read, copy, mean })) {
      const key = name as keyof AggregateFigures;
      figures[key] = lesser(figures[key], measure(work, 1));
    }
  }
  records.close();
  return figures;
}

/** A whole strategy over records of which all but the first are on disk. Run it in a separate process, because its peak memory is measured. */
export function runFromDisk(strategy: string, clients: number, length: number): void {
  const records = recordsOf(clients, length, 0);
  const aggregator = findAggregator(strategy);
  if (!aggregator) throw new Error(`no strategy ${strategy}`);
  runAggregator({
    aggregator,
    records,
    order: [...Array(clients).keys()],
    weights: Array(clients).fill(1),
    settings: {},
    base: undefined,
    state: undefined,
  });
  records.close();
}

export function containerOf(client: number, length: number): Uint8Array<ArrayBuffer> {
  return encodeParameters(
    [{ name: "w", dtype: "f32", shape: [length], data: fillClient(new Float32Array(length), client) }],
    "safetensors",
  );
}

/** Rows per second of a perceptron 64 → 128 → 10 in batches of 32. */
export function mlpRowsPerSecond(kernels: "wasm" | "plain", rows: number): number {
  const random = createRandom(1, 1);
  const samples = {
    rows,
    columns: 64,
    classes: 10,
    features: Float32Array.from({ length: rows * 64 }, () => random.uniform()),
    labels: Int32Array.from({ length: rows }, () => random.below(10)),
  };
  const network = createNetwork({
    layers: [dense("a", { inputs: 64, outputs: 128 }), relu(128), dense("b", { inputs: 128, outputs: 10 })],
    loss: softmaxLoss,
    start: { seed: 1 },
    ...(kernels === "plain" && { kernelsFor: (bytes: number): Kernels => createPlainKernels(bytes) }),
  });
  const settings = { epochs: 1, batchSize: 32, learningRate: 0.01, seed: 1, optimizer: "sgd", momentum: 0, mu: 0 } as const;
  const { cpuSeconds } = measure(() => network.train(samples, settings, () => {}), 3);
  return rows / cpuSeconds;
}
