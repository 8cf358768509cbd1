import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { CAPABILITIES } from "../common/capabilities.ts";
import { systemClock } from "../common/clock.ts";
import { ConfigError } from "../common/config.ts";
import { createLogger, type Logger } from "../common/logger.ts";
import { onShutdown, report, runMain } from "../common/process.ts";
import { systemRandom } from "../common/random.ts";
import { createApp } from "./app.ts";
import { createBlobStore } from "./blobs/blob-store.ts";
import { readTrainerConfig, type TrainerConfig } from "./config.ts";
import { loadDefaultDataset } from "./default-dataset.ts";
import type { TrainerDeps } from "./deps.ts";
import type { FunctionName } from "./functions/registry.ts";
import { capabilitiesOf } from "./http/info.ts";
import { createUsedNonces } from "./http/signed-call.ts";
import { createIdempotencyStore } from "./idempotency/idempotency-store.ts";
import { createJobStore } from "./jobs/job-store.ts";
import { startJoining } from "./join-loop.ts";
import { createMetrics } from "./metrics.ts";
import { createByteBudget } from "./pool/byte-budget.ts";
import { lazyPool } from "./pool/lazy-pool.ts";
import { type ComputePool, createPool } from "./pool/pool.ts";
import { createClosedRounds } from "./rounds/closed-rounds.ts";
import { startServer } from "./server.ts";
import { createParametersSource } from "./serving/parameters-source.ts";

const STOP_GRACE_MS = 10_000;
const JOB_KEEP_MS = 3_600_000;
const IDEMPOTENCY_KEYS_MAX = 10_000;

/**
 * Runs a trainer node as a process: assembles it from its settings and serves until a signal stops it. The promise settles when the node is
 * ready.
 */
export async function serve(title: string, environment: Readonly<Record<string, string | undefined>>): Promise<void> {
  await runMain(title, async () => {
    const config = readTrainerConfig(environment);
    const logger = createLogger("trainer", config.LOG_LEVEL);
    const pool = createPool({
      threads: config.TRAINER_THREADS,
      queueMax: config.TRAINER_QUEUE_MAX,
      taskTimeoutMs: config.TRAINER_TASK_TIMEOUT_MS,
      workerHeapMb: config.TRAINER_WORKER_HEAP_MB,
      workerData: workerDataOf(config),
      logger,
    });
    const servingPool = lazyPool(() => createServingPool(config, logger));
    const budget = createByteBudget(config.TRAINER_BYTES_BUDGET);
    let state: ReturnType<TrainerDeps["state"]> = "warming";
    let registered: readonly FunctionName[] = [];
    const app = createApp({
      pool,
      servingPool,
      budget,
      jobs: createJobStore({
        clock: systemClock,
        random: systemRandom,
        limits: { jobsMax: config.TRAINER_JOBS_MAX, answerBytesMax: config.TRAINER_BYTES_BUDGET / 2, keepMs: JOB_KEEP_MS },
      }),
      rounds: createClosedRounds({ clock: systemClock }),
      nonces: createUsedNonces({ clock: systemClock }),
      idempotencyStore: createIdempotencyStore({
        clock: systemClock,
        keysMax: IDEMPOTENCY_KEYS_MAX,
        bytesMax: config.TRAINER_BYTES_BUDGET / 4,
      }),
      registered: () => registered,
      fetchParameters: createParametersSource({
        blobs: createBlobStore({ folder: blobFolder(config), bytesMax: config.TRAINER_BLOB_BYTES_MAX }),
        urls: config.BLOB_SOURCE_URL,
        token: config.BLOB_SOURCE_TOKEN,
        timeoutMs: config.BLOB_SOURCE_TIMEOUT_MS,
        logger,
      }),
      metrics: createMetrics({ pool, budget }),
      clock: systemClock,
      random: systemRandom,
      logger,
      settings: settingsOf(config),
      state: () => state,
    });
    const server = await startServer(app, { host: config.HOST, port: config.TRAINER_PORT, clock: systemClock });
    let joining: ReturnType<typeof startJoining> | undefined;
    onShutdown(logger, async () => {
      state = "draining";
      await joining?.stop();
      await server.stop(STOP_GRACE_MS);
      await Promise.all([pool.close(), servingPool.close()]);
    });
    registered = await warmUp(pool, config);
    if (state === "warming") state = "ready";
    joining = joinIfConfigured(config, { port: server.port, registered, logger });
    logger.info({ port: server.port, host: config.HOST, threads: config.TRAINER_THREADS, registered }, "ready");
    report({ type: "ready", port: server.port });
  });
}

function joinIfConfigured(
  config: TrainerConfig,
  { port, registered, logger }: { port: number; registered: readonly FunctionName[]; logger: Logger },
): ReturnType<typeof startJoining> | undefined {
  const { TRAINER_JOIN_URL: url, TRAINER_JOIN_TOKEN: joinToken, HOST: host } = config;
  if (url === undefined || joinToken === undefined) return undefined;
  const isAnywhere = host === "0.0.0.0" || host === "::";
  const own = { url: `http://${isAnywhere ? "127.0.0.1" : host}:${port}`, token: config.TRAINER_TOKEN };
  const able = capabilitiesOf({ builtins: config.TRAINER_BUILTINS === "on", registered });
  const capabilities = CAPABILITIES.filter((name) => able[name]);
  return startJoining({ url: url.replace(/\/+$/, ""), joinToken, own, capabilities, clock: systemClock, logger });
}

async function warmUp(pool: ComputePool, config: TrainerConfig): Promise<readonly FunctionName[]> {
  try {
    return await pool.warmUp();
  } catch (cause) {
    if (config.TRAINER_FUNCTIONS === undefined) throw cause;
    throw new ConfigError([`TRAINER_FUNCTIONS: ${config.TRAINER_FUNCTIONS}: ${cause instanceof Error ? cause.message : String(cause)}`]);
  }
}

/** Threads of this pool load neither the operator's functions nor records: they only run served models. */
function createServingPool(config: TrainerConfig, logger: Logger): ComputePool {
  const threads = config.TRAINER_SERVE_THREADS;
  return createPool({
    threads,
    queueMax: config.TRAINER_SERVE_QUEUE_MAX,
    taskTimeoutMs: config.TRAINER_TASK_TIMEOUT_MS,
    workerHeapMb: config.TRAINER_WORKER_HEAP_MB,
    workerData: { fallback: undefined, blobFolder: blobFolder(config), modelBytes: Math.floor(config.TRAINER_MODEL_BYTES / threads) },
    logger,
  });
}

function workerDataOf(config: TrainerConfig) {
  const { TRAINER_FUNCTIONS: functions } = config;
  return {
    fallback: loadDefaultDataset(config.DATASET_PATH),
    tempFolder: config.TRAINER_TEMP_DIR,
    recordBytesInMemory: config.TRAINER_RECORD_BYTES,
    blobFolder: blobFolder(config),
    datasetUris: config.TRAINER_DATASET_URIS,
    datasetAuthorities: readAuthorities(config.TRAINER_DATASET_CA),
    functionsUrl: functions === undefined || functions.startsWith("file://") ? functions : pathToFileURL(resolve(functions)).href,
    builtins: config.TRAINER_BUILTINS === "on",
  };
}

function readAuthorities(path: string | undefined): string | undefined {
  if (path === undefined) return undefined;
  try {
    const pem = readFileSync(path, "utf8");
    new X509Certificate(pem);
    return pem;
  } catch (cause) {
    throw new ConfigError([`TRAINER_DATASET_CA: ${path}: ${cause instanceof Error ? cause.message : String(cause)}`]);
  }
}

function settingsOf(config: TrainerConfig): TrainerDeps["settings"] {
  const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as { version: string };
  return {
    version,
    auth: config.TRAINER_AUTH,
    token: config.TRAINER_TOKEN,
    secret: config.TRAINER_SECRET,
    builtins: config.TRAINER_BUILTINS === "on",
    bodyBytesMax: config.TRAINER_BODY_BYTES_MAX,
    streamBytesMax: config.TRAINER_STREAM_BYTES_MAX,
    bodyIdleMs: config.TRAINER_BODY_IDLE_MS,
    blobs: { folder: blobFolder(config), bytesMax: config.TRAINER_BLOB_BYTES_MAX },
    bytesBudget: config.TRAINER_BYTES_BUDGET,
    queueMax: config.TRAINER_QUEUE_MAX,
    threads: config.TRAINER_THREADS,
    taskTimeoutMs: config.TRAINER_TASK_TIMEOUT_MS,
    hasDefaultDataset: config.DATASET_PATH !== undefined,
  };
}

function blobFolder(config: TrainerConfig): string {
  return resolve(config.DATA_DIR, "trainer-blobs");
}
