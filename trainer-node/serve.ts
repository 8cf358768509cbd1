import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { systemClock } from "../common/clock.ts";
import { ConfigError } from "../common/config.ts";
import { createLogger, type Logger } from "../common/logger.ts";
import { type ProcessState, serveProcessMetrics } from "../common/metrics/serve-metrics.ts";
import { peerFetch } from "../common/peers/peer-fetch.ts";
import { drainTimes, onShutdown, report, runMain } from "../common/process.ts";
import { systemRandom } from "../common/random.ts";
import { declaredCapabilities } from "../common/training/capabilities.ts";
import { VERSION } from "../common/version.ts";
import { createApp } from "./app.ts";
import { addBlobMetrics } from "./blobs/blob-metrics.ts";
import { createBlobStore } from "./blobs/blob-store.ts";
import { readTrainerConfig, type TrainerConfig } from "./config.ts";
import { loadDefaultDataset } from "./default-dataset.ts";
import type { TrainerDeps } from "./deps.ts";
import type { FunctionName } from "./functions/registry.ts";
import { capabilitiesOf } from "./http/info.ts";
import { createUsedNonces } from "./http/signed-call.ts";
import { createIdempotencyStore } from "./idempotency/idempotency-store.ts";
import { drainJobs } from "./jobs/drain-jobs.ts";
import { createJobStore, type JobStore } from "./jobs/job-store.ts";
import { startJoining } from "./join-loop.ts";
import { createMetrics } from "./metrics.ts";
import { createByteBudget } from "./pool/byte-budget.ts";
import { lazyPool } from "./pool/lazy-pool.ts";
import { type ComputePool, createPool } from "./pool/pool.ts";
import { createClosedRounds } from "./rounds/closed-rounds.ts";
import { startServer } from "./server.ts";
import { createFunctionSource } from "./serving/function-source.ts";
import { createParametersSource } from "./serving/parameters-source.ts";

const JOB_KEEP_MS = 3_600_000;
const PROCESS_STATES: Readonly<Record<ReturnType<TrainerDeps["state"]>, ProcessState>> = {
  warming: "starting",
  ready: "ready",
  leaving: "stopping",
  draining: "stopping",
};
const IDEMPOTENCY_KEYS_MAX = 10_000;

/**
 * Runs a trainer node as a process: assembles it from its settings and serves until a signal stops it. The promise settles when the node is
 * ready.
 */
export async function serve(title: string, environment: Readonly<Record<string, string | undefined>>): Promise<void> {
  await runMain(title, async () => {
    const config = readTrainerConfig(environment);
    const logger = createLogger("trainer", config.logLevel);
    const pool = createPool({
      threads: config.trainerThreads,
      queueMax: config.trainerQueueMax,
      taskTimeoutMs: config.trainerTaskTimeoutMs,
      workerHeapMb: config.trainerWorkerHeapMb,
      workerData: workerDataOf(config),
      logger,
    });
    const servingPool = lazyPool(() => createServingPool(config, logger));
    const budget = createByteBudget(config.trainerBytesBudget);
    const jobs = createJobs(config);
    const metrics = createMetrics({ pool, servingPool, budget, jobs });
    addBlobMetrics(metrics.registry, { folder: blobFolder(config), clock: systemClock });
    let state: ReturnType<TrainerDeps["state"]> = "warming";
    let registered: readonly FunctionName[] = [];
    const blobs = createBlobStore({
      folder: blobFolder(config),
      bytesMax: config.trainerBlobBytesMax,
      bytesMaxPerTenant: config.blobsBytesMaxPerOrganization,
    });
    const cutting = new AbortController();
    const coordinators = {
      urls: config.blobSourceUrl,
      token: config.blobSourceToken,
      fetch: peerFetch(config.tls, "coordinator", "trainer"),
      logger,
    };
    const app = createApp({
      pool,
      servingPool,
      budget,
      jobs,
      rounds: createClosedRounds({ clock: systemClock }),
      nonces: createUsedNonces({ clock: systemClock, file: resolve(config.dataDir, "trainer-signed-until") }),
      idempotencyStore: createIdempotencyStore({
        clock: systemClock,
        keysMax: IDEMPOTENCY_KEYS_MAX,
        bytesMax: config.trainerBytesBudget / 4,
      }),
      registered: () => registered,
      blobs,
      fetchParameters: createParametersSource({ ...coordinators, blobs, timeoutMs: config.blobSourceTimeoutMs }),
      callFunction: createFunctionSource({ ...coordinators, timeoutMs: config.trainerTaskTimeoutMs }),
      metrics,
      clock: systemClock,
      random: systemRandom,
      logger,
      settings: settingsOf(config),
      state: () => state,
      cut: cutting.signal,
    });
    const tls = config.tls && { ...config.tls, clients: "optional" as const };
    const server = await startServer(app, { host: config.host, port: config.trainerPort, tls });
    const metricsServer = await serveProcessMetrics(config, metrics.registry, { role: "trainer", state: () => PROCESS_STATES[state] });
    let joining: ReturnType<typeof startJoining> | undefined;
    const stop = async ({ isOrphan }: { isOrphan: boolean }) => {
      const { drainDelayMs, drainMs } = drainTimes(config, { isOrphan });
      state = "leaving";
      server.announceStop();
      await systemClock.sleep(drainDelayMs);
      state = "draining";
      await joining?.stop();
      const restMs = await drainJobs(jobs, { clock: systemClock, drainMs });
      await server.stop({ drainMs: restMs, cut: () => cutting.abort() });
      await Promise.all([pool.close(), servingPool.close()]);
      await metricsServer?.stop();
    };
    onShutdown(logger, stop, { drainMs: config.drainDelayMs + config.drainMs });
    registered = await warmUp(pool, config);
    if (state === "warming") state = "ready";
    joining = joinIfConfigured(config, { port: server.port, registered, logger });
    logger.info({ port: server.port, host: config.host, threads: config.trainerThreads, registered }, "ready");
    report({ type: "ready", port: server.port });
  });
}

function createJobs({ trainerJobsMax: jobsMax, trainerBytesBudget }: TrainerConfig): JobStore {
  const limits = { jobsMax, answerBytesMax: trainerBytesBudget / 2, keepMs: JOB_KEEP_MS };
  return createJobStore({ clock: systemClock, random: systemRandom, limits });
}

function joinIfConfigured(
  config: TrainerConfig,
  { port, registered, logger }: { port: number; registered: readonly FunctionName[]; logger: Logger },
): ReturnType<typeof startJoining> | undefined {
  const { trainerJoinUrl: url, trainerJoinToken: joinToken, host } = config;
  if (url === undefined || joinToken === undefined) return undefined;
  const isAnywhere = host === "0.0.0.0" || host === "::";
  const own = { url: `http://${isAnywhere ? "127.0.0.1" : host}:${port}`, token: config.trainerToken };
  const able = capabilitiesOf({ builtins: config.trainerBuiltins === "on", registered, proximal: config.trainerProximal });
  const capabilities = [...declaredCapabilities(able)];
  return startJoining({
    url: url.replace(/(?<!\/)\/+$/, ""),
    joinToken,
    tokenFolder: resolve(config.dataDir, "trainer-join-tokens"),
    name: String(port),
    own,
    capabilities,
    properties: config.trainerProperties,
    exceptions: config.trainerExceptions,
    clock: systemClock,
    logger,
  });
}

async function warmUp(pool: ComputePool, config: TrainerConfig): Promise<readonly FunctionName[]> {
  try {
    return await pool.warmUp();
  } catch (cause) {
    if (config.trainerFunctions === undefined) throw cause;
    throw new ConfigError([`TRAINER_FUNCTIONS: ${config.trainerFunctions}: ${cause instanceof Error ? cause.message : String(cause)}`]);
  }
}

/** Threads of this pool run served models and the registered serve function. */
function createServingPool(config: TrainerConfig, logger: Logger): ComputePool {
  const threads = config.trainerServeThreads;
  return createPool({
    threads,
    queueMax: config.trainerServeQueueMax,
    taskTimeoutMs: config.trainerTaskTimeoutMs,
    workerHeapMb: config.trainerWorkerHeapMb,
    workerData: { ...workerDataOf(config), fallback: undefined, modelBytes: Math.floor(config.trainerModelBytes / threads) },
    logger,
  });
}

function workerDataOf(config: TrainerConfig) {
  const { trainerFunctions: functions } = config;
  return {
    fallback: loadDefaultDataset(config.datasetPath),
    tempFolder: config.trainerTempDir,
    recordBytesInMemory: config.trainerRecordBytes,
    blobFolder: blobFolder(config),
    datasetUris: config.trainerDatasetUris,
    datasetAuthorities: readAuthorities(config.trainerDatasetCa),
    functionsUrl: functions === undefined || functions.startsWith("file://") ? functions : pathToFileURL(resolve(functions)).href,
    builtins: config.trainerBuiltins === "on",
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
  return {
    version: VERSION,
    auth: config.trainerAuth,
    token: config.trainerToken,
    anonymous: config.trainerAnonymous,
    secret: config.trainerSecret,
    hostNames: config.trainerHostNames,
    properties: config.trainerProperties,
    exceptions: config.trainerExceptions,
    builtins: config.trainerBuiltins === "on",
    proximal: config.trainerProximal,
    bodyBytesMax: config.trainerBodyBytesMax,
    streamBytesMax: config.trainerStreamBytesMax,
    bodyIdleMs: config.trainerBodyIdleMs,
    bytesBudget: config.trainerBytesBudget,
    queueMax: config.trainerQueueMax,
    threads: config.trainerThreads,
    taskTimeoutMs: config.trainerTaskTimeoutMs,
    hasDefaultDataset: config.datasetPath !== undefined,
  };
}

function blobFolder(config: TrainerConfig): string {
  return resolve(config.dataDir, "trainer-blobs");
}
