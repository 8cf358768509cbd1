import { Packr, Unpackr } from "msgpackr/index-no-eval";
import type { Logger } from "../../common/logger.ts";
import type { FileDigest, FollowedFile } from "../blobs/followed-file.ts";
import type { BlobAggregation, BlobAggregationResult } from "../operations/aggregate-blobs.ts";
import { blobRequest } from "../operations/blob-request.ts";
import { type ComputeAnswer, createPool, type SharedTask, type SharingPool } from "../pool/pool.ts";
import { createTurns } from "../pool/turns.ts";
import type { BlobFolder } from "./blobs/blob-folder.ts";

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
  /** The digest of a file that is still written; in the same thread, which has nothing to combine until there are updates. */
  follow(file: FollowedFile): Promise<FileDigest>;
  close(): Promise<void>;
}

const TASK_MS_MAX = 3_600_000;
const HEAP_MB = 2048;
const YOUNG_MB = 4;
const TASKS_MAX = 10_000;

/**
 * The participants' own `/aggregate`, in threads of this process, over updates that are read from the blob folder one by one: so what a
 * round makes is what every node makes of the same updates, byte for byte, and memory grows with the model and not with the participants.
 */
export function createAggregation(options: { blobs: BlobFolder; recordBytes: number; logger: Logger }): Aggregation {
  const { blobs, recordBytes, logger } = options;
  const inTurn = createTurns();
  let pool: SharingPool | undefined;
  // Threads are made when the first round needs them: a coordinator without work starts at once and holds nothing.
  const poolNow = (): SharingPool => {
    pool ??= createPool({
      threads: 1,
      tasksPerThread: TASKS_MAX,
      queueMax: TASKS_MAX,
      taskTimeoutMs: TASK_MS_MAX,
      workerHeapMb: HEAP_MB,
      workerData: { fallback: undefined, blobFolder: blobs.folder, recordBytesInMemory: recordBytes },
      logger,
      workerUrl: new URL("../pool/blob-worker.ts", import.meta.url),
      workerYoungMb: YOUNG_MB,
    });
    return pool;
  };
  /** One after the other: they have one memory. Work that nobody wants any more is ended with its thread, and files are followed anew. */
  const compute = (task: SharedTask, signal: AbortSignal): Promise<ComputeAnswer> =>
    inTurn(async () => {
      const current = poolNow();
      const inTime = AbortSignal.any([signal, AbortSignal.timeout(TASK_MS_MAX)]);
      const end = (): void => {
        if (pool === current) pool = undefined;
        void current.close();
      };
      inTime.addEventListener("abort", end, { once: true });
      try {
        return await current.share(task);
      } finally {
        inTime.removeEventListener("abort", end);
      }
    }, signal);
  return {
    store: async ({ keep = true, ...input }, signal) => {
      const task = { type: "aggregate-blobs", request: { ...input, keep } } as const;
      const { body } = await compute(task, signal);
      const made = parse(body) as BlobAggregationResult;
      return { parameters: made.parameters, state: made.state, clients: figuresOf(made.clients) };
    },
    run: async (input, signal) => {
      const fields = blobRequest(input, input.state === "" ? undefined : await blobs.read(input.state));
      const body = Uint8Array.from(new Packr({ useRecords: false, variableMapSize: true }).pack(fields));
      const task = { type: "call", operation: "aggregate", body, bodyType: "msgpack", answerType: "msgpack", seed: 0 } as const;
      return readResult((await compute(task, signal)).body);
    },
    follow: async (file) => parse((await poolNow().share({ type: "follow-file", file })).body) as FileDigest,
    close: async () => {
      await pool?.close();
    },
  };
}

const parse = (body: Uint8Array): unknown => JSON.parse(new TextDecoder().decode(body));

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
