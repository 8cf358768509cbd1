import { Packr, Unpackr } from "msgpackr/index-no-eval";
import type { Logger } from "../../common/logger.ts";
import { programFile } from "../../common/program-files.ts";
import type { OwnStrategy } from "../../common/strategies/shared/own-strategy.ts";
import type { UntrainedStart } from "../../common/training/untrained-start.ts";
import type { FileDigest, FollowedFile } from "../blobs/followed-file.ts";
import type { BlobAggregation, BlobAggregationResult } from "../operations/aggregate-blobs.ts";
import { blobRequest } from "../operations/blob-request.ts";
import type { BlobExpansion } from "../operations/expand-blob.ts";
import { type ComputeAnswer, createPool, type SharedTask, type SharingPool } from "../pool/pool.ts";
import { createTurns } from "../pool/turns.ts";
import { type BlobFolder, requireBlob } from "./blobs/blob-folder.ts";

/** The input of an aggregation; updates are in the order of the round record. */
export type AggregationInput = Omit<BlobAggregation, "keep"> & {
  /** The federation's copy of its own strategy; absent for a built-in one. */
  readonly own?: OwnStrategy | undefined;
};

/** What an aggregation reports about one update. */
export interface ClientFigures {
  readonly norm: number | undefined;
  readonly cosine: number | undefined;
  readonly kept: boolean;
}

/** The result of an aggregation, in memory. */
export interface AggregationResult {
  readonly parameters: Uint8Array;
  readonly state: Uint8Array | undefined;
  /** Reports by the id of the update. */
  readonly clients: ReadonlyMap<string, ClientFigures>;
}

/** The result of an aggregation as hashes of blobs. */
export interface StoredAggregation {
  readonly parameters: string;
  readonly state: string | undefined;
  readonly clients: ReadonlyMap<string, ClientFigures>;
}

/** What a new model of a built-in task is made of. */
export type UntrainedModel = Pick<Extract<UntrainedStart, { by: "coordinator" }>, "config" | "dataset">;

/** Aggregates stored updates in threads of this process. */
export interface Aggregation {
  /**
   * Aggregates blobs to blobs. No update is in memory as a whole if the strategy allows it. With `keep: false`, only the hashes are
   * computed.
   */
  store(input: AggregationInput & { readonly keep?: boolean }, signal: AbortSignal): Promise<StoredAggregation>;
  run(input: AggregationInput, signal: AbortSignal): Promise<AggregationResult>;
  /** Stores the parameters that a compressed update stands for. Throws TrainerError if it cannot be expanded. */
  expand(input: BlobExpansion, signal: AbortSignal): Promise<{ sha256: string; bytes: number }>;
  /** A new model of a built-in task, as safetensors: the same bytes for the same input. Throws TrainerError if the input is not valid. */
  untrained(input: UntrainedModel, signal: AbortSignal): Promise<Uint8Array>;
  /** The digest of a file that is being written, computed in the same thread, which is idle until there are updates. */
  follow(file: FollowedFile): Promise<FileDigest>;
  close(): Promise<void>;
}

const TASK_MS_MAX = 3_600_000;
const HEAP_MB = 2048;
const YOUNG_MB = 4;
const TASKS_MAX = 10_000;

/**
 * Runs the participants' `/aggregate` in threads of this process over updates from the blob folder. So a round has the same bytes as on
 * every node, and memory grows with the model and not with the number of participants.
 */
export function createAggregation(options: { blobs: BlobFolder; recordBytes: number; logger: Logger }): Aggregation {
  const { blobs, recordBytes, logger } = options;
  const inTurn = createTurns();
  let pool: SharingPool | undefined;
  // Threads start with the first round, so that a coordinator without work starts at once and needs no memory for them.
  const poolNow = (): SharingPool => {
    pool ??= createPool({
      threads: 1,
      tasksPerThread: TASKS_MAX,
      queueMax: TASKS_MAX,
      taskTimeoutMs: TASK_MS_MAX,
      workerHeapMb: HEAP_MB,
      workerData: { fallback: undefined, blobFolder: blobs.folder, recordBytesInMemory: recordBytes },
      logger,
      workerUrl: new URL(programFile("../pool/blob-worker.ts"), import.meta.url),
      workerYoungMb: YOUNG_MB,
    });
    return pool;
  };
  /**
   * Aggregations run one after the other, because they share one memory. An aborted one ends with its thread, and files are followed again.
   */
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
    store: async ({ keep = true, own: _own, ...input }, signal) => {
      await present(blobs, input);
      const task = { type: "aggregate-blobs", request: { ...input, keep } } as const;
      const { body } = await compute(task, signal);
      const made = parse(body) as BlobAggregationResult;
      return { parameters: made.parameters, state: made.state, clients: figuresOf(made.clients) };
    },
    run: async (input, signal) => {
      await present(blobs, input);
      const fields = blobRequest(input, input.state === "" ? undefined : await blobs.read(input.state));
      const body = Uint8Array.from(new Packr({ useRecords: false, variableMapSize: true }).pack(fields));
      const task = { type: "call", operation: "aggregate", body, bodyType: "msgpack", answerType: "msgpack", seed: 0 } as const;
      return readResult((await compute(task, signal)).body);
    },
    expand: async (request, signal) => {
      for (const hash of [request.base, request.update]) await requireBlob(blobs.find, hash);
      return parse((await compute({ type: "expand-blob", request }, signal)).body) as { sha256: string; bytes: number };
    },
    untrained: async ({ config, dataset }, signal) => {
      const fields = { config: { ...config, untrained: true }, dataset, format: "safetensors" };
      const body = new TextEncoder().encode(JSON.stringify(fields));
      return (await compute({ type: "call", operation: "train", body, answerType: "octets", seed: 0 }, signal)).body;
    },
    follow: async (file) => parse((await poolNow().share({ type: "follow-file", file })).body) as FileDigest,
    close: async () => {
      await pool?.close();
    },
  };
}

/** Threads read the folder only, so blobs that are elsewhere are fetched first. */
async function present(blobs: BlobFolder, { updates, base, state }: AggregationInput): Promise<void> {
  for (const hash of [...updates.map((update) => update.hash), base, state]) if (hash !== "") await requireBlob(blobs.find, hash);
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
