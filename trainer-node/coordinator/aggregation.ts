import { Packr, Unpackr } from "msgpackr/index-no-eval";
import type { Logger } from "../../common/logger.ts";
import type { BlobAggregation, BlobAggregationResult } from "../operations/aggregate-blobs.ts";
import { blobRequest } from "../operations/blob-request.ts";
import { type ComputePool, createPool } from "../pool/pool.ts";
import type { BlobFolder } from "./blob-folder.ts";

/** Updates in the order of the record. */
export type AggregationInput = Omit<BlobAggregation, "keep">;

export interface ClientFigures {
  readonly norm: number | undefined;
  readonly cosine: number | undefined;
  readonly kept: boolean;
}

export interface AggregationResult {
  readonly parameters: Uint8Array;
  readonly state: Uint8Array | undefined;
  /** By the id of the update. */
  readonly clients: ReadonlyMap<string, ClientFigures>;
}

/** The same, as hashes of blobs. */
export interface StoredAggregation {
  readonly parameters: string;
  readonly state: string | undefined;
  readonly clients: ReadonlyMap<string, ClientFigures>;
}

export interface Aggregation {
  /** From blobs to blobs: no update is whole in memory where the strategy allows it. `keep: false` gives the hashes alone. */
  store(input: AggregationInput & { readonly keep?: boolean }, signal: AbortSignal): Promise<StoredAggregation>;
  run(input: AggregationInput, signal: AbortSignal): Promise<AggregationResult>;
  close(): Promise<void>;
}

const TASK_MS_MAX = 3_600_000;
const HEAP_MB = 2048;
const YOUNG_MB = 4;

/**
 * The participants' own `/aggregate`, in threads of this process, over updates that are read from the blob folder one by one: so what a
 * round makes is what every node makes of the same updates, byte for byte, and memory grows with the model and not with the participants.
 */
export function createAggregation(options: { blobs: BlobFolder; recordBytes: number; logger: Logger; threads?: number }): Aggregation {
  const { blobs, recordBytes, logger, threads = 1 } = options;
  let pool: ComputePool | undefined;
  // Threads are made when the first round needs them: a coordinator without work starts at once and holds nothing.
  const poolNow = (): ComputePool => {
    pool ??= createPool({
      threads,
      queueMax: 10_000,
      taskTimeoutMs: TASK_MS_MAX,
      workerHeapMb: HEAP_MB,
      workerData: { fallback: undefined, blobFolder: blobs.folder, recordBytesInMemory: recordBytes },
      logger,
      workerUrl: new URL("../pool/blob-worker.ts", import.meta.url),
      workerYoungMb: YOUNG_MB,
    });
    return pool;
  };
  return {
    store: async ({ keep = true, ...input }, signal) => {
      const { body } = await poolNow().run({ type: "aggregate-blobs", request: { ...input, keep } }, { signal });
      const made = JSON.parse(new TextDecoder().decode(body)) as BlobAggregationResult;
      return { parameters: made.parameters, state: made.state, clients: figuresOf(made.clients) };
    },
    run: async (input, signal) => {
      const fields = blobRequest(input, input.state === "" ? undefined : await blobs.read(input.state));
      const body = Uint8Array.from(new Packr({ useRecords: false, variableMapSize: true }).pack(fields));
      const task = { type: "call", operation: "aggregate", body, bodyType: "msgpack", answerType: "msgpack", seed: 0 } as const;
      return readResult((await poolNow().run(task, { signal })).body);
    },
    close: async () => {
      await pool?.close();
    },
  };
}

function readResult(bytes: Uint8Array): AggregationResult {
  const answer = new Unpackr({ useRecords: false, mapsAsObjects: true }).unpack(bytes) as {
    parameters: Uint8Array;
    state?: Uint8Array;
    clients: readonly AnsweredClient[];
  };
  return {
    parameters: answer.parameters,
    state: answer.state,
    clients: figuresOf(answer.clients),
  };
}

type AnsweredClient = {
  readonly id: string;
  readonly norm?: number;
  readonly cosine?: number | null;
  readonly accepted?: boolean;
};

function figuresOf(clients: readonly AnsweredClient[]): Map<string, ClientFigures> {
  return new Map(clients.map(({ id, norm, cosine, accepted }) => [id, { norm, cosine: cosine ?? undefined, kept: accepted ?? true }]));
}
