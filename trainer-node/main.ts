import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { systemClock } from "../common/clock.ts";
import { createLogger } from "../common/logger.ts";
import { onShutdown, report, runMain } from "../common/process.ts";
import { systemRandom } from "../common/random.ts";
import { createApp } from "./app.ts";
import { readTrainerConfig, type TrainerConfig } from "./config.ts";
import { loadDefaultDataset } from "./default-dataset.ts";
import type { TrainerDeps } from "./deps.ts";
import { createJobStore } from "./jobs/job-store.ts";
import { createMetrics } from "./metrics.ts";
import { createByteBudget } from "./pool/byte-budget.ts";
import { createPool } from "./pool/pool.ts";
import { startServer } from "./server.ts";

const STOP_GRACE_MS = 10_000;
const JOB_KEEP_MS = 3_600_000;

await runMain("tributary trainer", async () => {
  const config = readTrainerConfig(process.env);
  const logger = createLogger("trainer", config.LOG_LEVEL);
  const fallback = loadDefaultDataset(config.DATASET_PATH);
  const pool = createPool({
    threads: config.TRAINER_THREADS,
    queueMax: config.TRAINER_QUEUE_MAX,
    taskTimeoutMs: config.TRAINER_TASK_TIMEOUT_MS,
    workerHeapMb: config.TRAINER_WORKER_HEAP_MB,
    workerData: {
      fallback,
      tempFolder: config.TRAINER_TEMP_DIR,
      recordBytesInMemory: config.TRAINER_RECORD_BYTES,
      blobFolder: blobFolder(config),
      datasetUris: config.TRAINER_DATASET_URIS,
    },
    logger,
  });
  const budget = createByteBudget(config.TRAINER_BYTES_BUDGET);
  let state: ReturnType<TrainerDeps["state"]> = "warming";
  const app = createApp({
    pool,
    budget,
    jobs: createJobStore({
      clock: systemClock,
      random: systemRandom,
      limits: { jobsMax: config.TRAINER_JOBS_MAX, answerBytesMax: config.TRAINER_BYTES_BUDGET / 2, keepMs: JOB_KEEP_MS },
    }),
    metrics: createMetrics({ pool, budget }),
    clock: systemClock,
    random: systemRandom,
    logger,
    settings: settingsOf(config),
    state: () => state,
  });
  const server = await startServer(app, { host: config.HOST, port: config.TRAINER_PORT, clock: systemClock });
  onShutdown(logger, async () => {
    state = "draining";
    await server.stop(STOP_GRACE_MS);
    await pool.close();
  });
  await pool.warmUp();
  if (state === "warming") state = "ready";
  logger.info({ port: server.port, host: config.HOST, threads: config.TRAINER_THREADS }, "ready");
  report({ type: "ready", port: server.port });
});

function settingsOf(config: TrainerConfig): TrainerDeps["settings"] {
  const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as { version: string };
  return {
    version,
    auth: config.TRAINER_AUTH,
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
