import { createHash } from "node:crypto";
import { join } from "node:path";
import { openTensorFile, type TensorFile } from "../blobs/tensor-file.ts";
import { createTensorWriter, type TensorWriter } from "../blobs/tensor-writer.ts";
import type { PlacedTensor } from "../codec/safetensors.ts";
import type { Aggregator, Verdict } from "../compute/aggregators/aggregator.ts";
import { findAggregator } from "../compute/aggregators/registry.ts";
import { type ClientReport, reportsOf, runPiece } from "../compute/aggregators/run-aggregator.ts";
import type { ResultArrays } from "../compute/clients/result-arrays.ts";
import { alignTo } from "../compute/clients/segments.ts";
import type { Profile } from "../compute/clients/vectors.ts";
import { createKernels } from "../compute/kernels/create-kernels.ts";
import type { KernelMemory } from "../compute/kernels/kernel-memory.ts";
import { ELEMENT_BYTES, firstNonFinite, isFloatType, type Tensor, type TensorHeader, tensorFromBytes } from "../compute/tensor.ts";
import { clientOrder } from "../records/client-order.ts";
import { openWindow, readWindow, type Slice, type WindowRecords, windowsOf } from "./model-windows.ts";

/** An aggregation from blobs to blobs. It gives the same bytes as `/aggregate` for the same updates, without a whole update in memory. */
export interface BlobAggregation {
  readonly updates: readonly { readonly hash: string; readonly weight: number; readonly id: string }[];
  readonly strategy: Readonly<Record<string, unknown>>;
  /** The hash of the base; "" for none. */
  readonly base: string;
  readonly state: string;
  /** False: only the hashes of the results are returned, and nothing is stored. */
  readonly keep: boolean;
}

/** The hashes of what an aggregation of blobs made, and a report per client. */
export interface BlobAggregationResult {
  readonly parameters: string;
  readonly state: string | undefined;
  readonly clients: readonly ({ readonly id: string } & Partial<ClientReport>)[];
}

/** What an aggregation of blobs works with. */
export interface BlobAggregationContext {
  readonly folder: string;
  readonly memory: KernelMemory;
  readonly results: ResultArrays;
  /** Bytes of all clients together in memory at a time. */
  readonly windowBytes: number;
}

type Client = { readonly file: TensorFile; readonly tensors: readonly PlacedTensor[] };

/**
 * Aggregates blobs window by window. Undefined if that is not possible: a strategy that needs whole updates, a container other than
 * safetensors, half-precision floats, or a client with a NaN. The caller then falls back to `aggregate`, which reports what is wrong.
 */
export function aggregateBlobs(request: BlobAggregation, context: BlobAggregationContext): BlobAggregationResult | undefined {
  const { name = "mean", ...settings } = request.strategy;
  const aggregator = findAggregator(String(name));
  if (!aggregator?.columnwise || Object.values(settings).some((value) => Array.isArray(value) && value.length !== request.updates.length))
    return undefined;
  const open = (hash: string) => (hash === "" ? undefined : openTensorFile(join(context.folder, hash)));
  const clients = alignedClients(request.updates.map(({ hash }) => open(hash)));
  const [base, state] = [open(request.base), open(request.state)];
  if (!clients || (!base && (request.base !== "" || aggregator.base === "required")) || (!state && request.state !== "")) return undefined;
  const weights = request.updates.map(({ weight }) => weight);
  const lists = Object.values(settings).filter((value): value is unknown[] => Array.isArray(value));
  const order = clientOrder(firstNumbers(clients), [...clients.keys()], (client) => [
    weights[client] ?? 1,
    ...lists.map((list) => Number(list[client])),
  ]);
  return runWindows({ request, aggregator, settings, clients, base, state, weights, order }, context);
}

interface WindowedAggregation {
  readonly request: BlobAggregation;
  readonly aggregator: Aggregator;
  readonly settings: Readonly<Record<string, unknown>>;
  readonly clients: readonly Client[];
  readonly base: TensorFile | undefined;
  readonly state: TensorFile | undefined;
  readonly weights: readonly number[];
  readonly order: readonly number[];
}

function runWindows(work: WindowedAggregation, context: BlobAggregationContext): BlobAggregationResult | undefined {
  const { request, aggregator, clients, order, weights, settings } = work;
  const model: readonly TensorHeader[] = clients[0]?.tensors ?? [];
  const outputs = openOutputs(context.folder, model, aggregator);
  const total = emptyProfile(clients.length);
  let verdicts: readonly Verdict[] = [];
  try {
    for (const window of windowsOf(model, context.windowBytes / clients.length)) {
      const records = openWindow(clients, window, context);
      try {
        records.load();
        if (!areFinite(records)) return undefined;
        const base = work.base && readWindow(work.base, window, context);
        const piece = runPiece({ aggregator, records, order, weights, settings, base, state: stateWindow(work, window, context) });
        outputs.write(window, piece);
        addProfile(total, piece.profile);
        verdicts = piece.verdicts;
      } finally {
        records.close();
      }
    }
    const { parameters, state } = outputs.finish(request.keep);
    const reports = reportsOf(order, verdicts, total);
    return { parameters, state, clients: request.updates.map(({ id }, client) => ({ id, ...reports.get(client) })) };
  } finally {
    outputs.close();
  }
}

/** Every client's tensors in the order of the first client's; undefined if a file has another format or other tensors. */
function alignedClients(files: readonly (TensorFile | undefined)[]): Client[] | undefined {
  const [first] = files;
  if (!first?.tensors.every(({ dtype }) => !isFloatType(dtype) || dtype === "f32" || dtype === "f64")) return undefined;
  const clients: Client[] = [];
  for (const file of files) {
    const tensors = file && alignTo(first.tensors, file.tensors);
    if (!file || !Array.isArray(tensors)) return undefined;
    clients.push({ file, tensors });
  }
  return clients;
}

const PREFIX_NUMBERS = 128;
const DIGEST_STEP_BYTES = 2 ** 20;

/** The numbers that clients are ordered by: the same as for records in memory. */
function firstNumbers(clients: readonly Client[]): Parameters<typeof clientOrder>[0] {
  const prefixes = clients.map(({ file, tensors }): readonly number[] => {
    const first = tensors.find(({ dtype }) => isFloatType(dtype));
    if (!first) return [];
    const elementBytes = ELEMENT_BYTES[first.dtype];
    const bytes = new Uint8Array(Math.min(PREFIX_NUMBERS * elementBytes, first.end - first.start));
    file.open((read) => read(first.start, bytes));
    const { data } = tensorFromBytes({ ...first, shape: [bytes.byteLength / elementBytes] }, bytes);
    return Array.from(data as Float64Array);
  });
  return {
    prefix: (client) => prefixes[client] ?? [],
    digest: (client) => {
      const { file, tensors } = clients[client] as Client;
      const hash = createHash("sha256");
      const step = new Uint8Array(DIGEST_STEP_BYTES);
      file.open((read) => {
        for (const { start, end } of tensors) {
          for (let at = start; at < end; at += step.byteLength) {
            const part = step.subarray(0, Math.min(step.byteLength, end - at));
            read(at, part);
            hash.update(part);
          }
        }
      });
      return hash.digest("hex");
    },
  };
}

function areFinite({ memory, count, segments, place }: WindowRecords): boolean {
  const kernels = createKernels(0, memory);
  for (const segment of segments.filter(({ float }) => float)) {
    for (let client = 0; client < count; client++) {
      const at = place(client, segment) ?? 0;
      const data =
        segment.elementBytes === 4
          ? new Float32Array(memory.buffer, at, segment.length)
          : new Float64Array(memory.buffer, at, segment.length);
      // The kernel may read a little beyond the end, so a negative result is checked again.
      const isKnown = data instanceof Float32Array && kernels.allFinite(data);
      if (!isKnown && firstNonFinite(data) >= 0) return false;
    }
  }
  return true;
}

function stateWindow(
  { aggregator, state }: WindowedAggregation,
  window: readonly Slice[],
  { results }: BlobAggregationContext,
): Tensor[] | undefined {
  if (!state) return undefined;
  const floats = window.filter(({ header }) => isFloatType(header.dtype));
  return (aggregator.slots ?? []).flatMap((slot) => readWindow(state, floats, { results, nameOf: (name) => `${slot}/${name}` }));
}

interface Outputs {
  write(window: readonly Slice[], made: { tensors: readonly Tensor[]; state: readonly Tensor[] | undefined }): void;
  finish(keep: boolean): { parameters: string; state: string | undefined };
  close(): void;
}

function openOutputs(folder: string, model: readonly TensorHeader[], { slots = [] }: Aggregator): Outputs {
  const floats = model.filter(({ dtype }) => isFloatType(dtype));
  const kept = slots.flatMap((slot) => floats.map((header) => ({ ...header, name: `${slot}/${header.name}` })));
  const parameters = createTensorWriter(folder, model);
  let state: TensorWriter | undefined;
  try {
    state = kept.length > 0 ? createTensorWriter(folder, kept) : undefined;
  } catch (thrown) {
    parameters.close();
    throw thrown;
  }
  return {
    write: (window, made) => {
      const starts = new Map(window.map(({ header, start }) => [header.name, start]));
      for (const tensor of made.tensors) parameters.write(tensor, starts.get(tensor.name) ?? 0);
      for (const tensor of made.state ?? []) state?.write(tensor, starts.get(tensor.name.slice(tensor.name.indexOf("/") + 1)) ?? 0);
    },
    finish: (keep) => ({ parameters: parameters.finish({ keep }), state: state?.finish({ keep }) }),
    close: () => {
      parameters.close();
      state?.close();
    },
  };
}

type OpenProfile = { squared: Float64Array; dots: Float64Array; stepSquared: number; originDot: number };

const emptyProfile = (clients: number): OpenProfile => ({
  squared: new Float64Array(clients),
  dots: new Float64Array(clients),
  stepSquared: 0,
  originDot: 0,
});

function addProfile(total: OpenProfile, { squared, dots, stepSquared, originDot }: Profile): void {
  for (const client of squared.keys()) {
    total.squared[client] = (total.squared[client] as number) + (squared[client] as number);
    total.dots[client] = (total.dots[client] as number) + (dots[client] as number);
  }
  total.stepSquared += stepSquared;
  total.originDot += originDot;
}
