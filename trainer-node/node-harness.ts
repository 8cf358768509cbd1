import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../common/clock.ts";
import { silentLogger } from "../common/logger.ts";
import { systemRandom } from "../common/random.ts";
import { createApp } from "./app.ts";
import { type BlobStore, createBlobStore } from "./blobs/blob-store.ts";
import type { TrainerDeps } from "./deps.ts";
import type { FunctionName } from "./functions/registry.ts";
import { createUsedNonces } from "./http/signed-call.ts";
import { createIdempotencyStore } from "./idempotency/idempotency-store.ts";
import { createJobStore } from "./jobs/job-store.ts";
import { createMetrics } from "./metrics.ts";
import { createByteBudget } from "./pool/byte-budget.ts";
import { lazyPool } from "./pool/lazy-pool.ts";
import type { WorkerData } from "./pool/messages.ts";
import { type ComputePool, createPool } from "./pool/pool.ts";
import { createClosedRounds } from "./rounds/closed-rounds.ts";
import { type RunningServer, startServer } from "./server.ts";
import { createFunctionSource } from "./serving/function-source.ts";
import { createParametersSource } from "./serving/parameters-source.ts";

export const BODY_BYTES_MAX = 200_000;
const FALLBACK = { rows: 2, columns: 1, classes: 2, features: Float32Array.of(0, 1), labels: Int32Array.of(0, 1) };

export interface Node {
  url: string;
  deps: TrainerDeps;
  /** Where it may write. */
  folder: string;
  /** Repeated, it waits for the same end. */
  stop(): Promise<void>;
}

export async function startNode(
  options: {
    fallback?: boolean;
    threads?: number;
    queueMax?: number;
    taskTimeoutMs?: number;
    bytesBudget?: number;
    state?: TrainerDeps["state"];
    cut?: AbortSignal;
    workerUrl?: URL;
    bodyBytesMax?: number;
    streamBytesMax?: number;
    bodyIdleMs?: number;
    blobBytesMax?: number;
    blobBytesMaxPerTenant?: number;
    recordBytesInMemory?: number;
    datasetUris?: readonly string[];
    datasetAuthorities?: string;
    functionsUrl?: string;
    builtins?: boolean;
    proximal?: boolean;
    exceptions?: "owner" | "all";
    token?: string;
    anonymous?: boolean;
    secret?: string;
    hostNames?: readonly string[];
    blobSources?: readonly string[];
  } = {},
): Promise<Node> {
  const { threads = 2, queueMax = 16, taskTimeoutMs = 20_000, bytesBudget = 10_000_000 } = options;
  const folder = mkdtempSync(join(tmpdir(), "trainer-node-test-"));
  const blobFolder = join(folder, "blobs");
  const workerData: WorkerData = {
    fallback: options.fallback ? FALLBACK : undefined,
    blobFolder,
    tempFolder: folder,
    recordBytesInMemory: options.recordBytesInMemory,
    datasetUris: options.datasetUris,
    datasetAuthorities: options.datasetAuthorities,
    functionsUrl: options.functionsUrl,
    builtins: options.builtins,
  };
  const pool = createPool({
    threads,
    queueMax,
    taskTimeoutMs,
    workerHeapMb: 256,
    workerData,
    logger: silentLogger,
    ...(options.workerUrl && { workerUrl: options.workerUrl }),
  });
  const servingPool = servingPoolOf({ blobFolder, functionsUrl: options.functionsUrl }, taskTimeoutMs);
  const budget = createByteBudget(bytesBudget);
  const settings = {
    version: "test",
    auth: "loopback" as const,
    token: options.token,
    anonymous: options.anonymous,
    secret: options.secret,
    hostNames: options.hostNames,
    ...{ builtins: options.builtins, proximal: options.proximal },
    exceptions: options.exceptions,
    bodyBytesMax: options.bodyBytesMax ?? BODY_BYTES_MAX,
    streamBytesMax: options.streamBytesMax,
    bodyIdleMs: options.bodyIdleMs,
    bytesBudget,
    queueMax,
    threads,
    taskTimeoutMs,
    hasDefaultDataset: false,
  };
  const blobs = blobStoreOf(blobFolder, options);
  let registered: readonly FunctionName[] = [];
  const deps: TrainerDeps = {
    pool,
    servingPool,
    budget,
    jobs: createJobStore({ clock: systemClock, random: systemRandom, limits: { jobsMax: 4, answerBytesMax: 1_000_000, keepMs: 60_000 } }),
    rounds: createClosedRounds({ clock: systemClock }),
    nonces: createUsedNonces({ clock: systemClock }),
    idempotencyStore: createIdempotencyStore({ clock: systemClock, keysMax: 100, bytesMax: 1_000_000 }),
    registered: () => registered,
    blobs,
    fetchParameters: createParametersSource({ blobs, urls: options.blobSources ?? [], timeoutMs: 5000, logger: silentLogger }),
    callFunction: createFunctionSource({ urls: options.blobSources ?? [], timeoutMs: 5000, logger: silentLogger }),
    metrics: createMetrics({ pool, budget }),
    clock: systemClock,
    random: systemRandom,
    logger: silentLogger,
    settings,
    state: options.state ?? (() => "ready"),
    cut: options.cut,
  };
  const server: RunningServer = await startServer(createApp(deps), { host: "127.0.0.1", port: 0 });
  registered = await pool.warmUp();
  const stop = once(async () => {
    await server.stop();
    await Promise.all([pool.close(), servingPool.close()]);
    rmSync(folder, { recursive: true, force: true });
  });
  return { url: `http://127.0.0.1:${server.port}`, deps, folder, stop };
}

/** The same run for all who call it. */
function once(run: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  return () => {
    running ??= run();
    return running;
  };
}

function blobStoreOf(folder: string, options: { blobBytesMax?: number; blobBytesMaxPerTenant?: number }): BlobStore {
  const { blobBytesMax: bytesMax = 10_000_000, blobBytesMaxPerTenant: bytesMaxPerTenant = bytesMax } = options;
  return createBlobStore({ folder, bytesMax, bytesMaxPerTenant });
}

function servingPoolOf(given: Pick<WorkerData, "blobFolder" | "functionsUrl">, taskTimeoutMs: number): ComputePool {
  const workerData = { fallback: undefined, ...given };
  return lazyPool(() => createPool({ threads: 1, queueMax: 64, taskTimeoutMs, workerHeapMb: 256, workerData, logger: silentLogger }));
}
