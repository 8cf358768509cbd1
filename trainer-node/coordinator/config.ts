import { resolve } from "node:path";
import { z } from "zod";
import { ConfigError, countSetting, developerFlag, portSetting, readConfig } from "../../common/config.ts";
import { exposureSettings, isExposed, isLoopbackHost, isOpen } from "../../common/exposed.ts";

const shape = {
  ...exposureSettings,
  /** Port of the coordinator's HTTP API, which serves trained parameters by their hash; 0 selects a free port. */
  COORDINATOR_PORT: portSetting(5100),
  HOST: z.string().default("127.0.0.1"),
  /** The address that this coordinator listens on, if it differs from the edges' HOST. */
  COORDINATOR_HOST: z.string().optional(),
  CONTROL_ADDRESS: z.string().default("127.0.0.1:4100"),
  DATA_DIR: z.string().default("./data"),
  /** Most federations that run at the same time. */
  COORDINATOR_FEDERATIONS_MAX: countSetting(16, { min: 1, max: 1000 }),
  /** Most concurrent calls to participants, for each federation. */
  COORDINATOR_CALLS_MAX: countSetting(64, { min: 1, max: 10_000 }),
  /** Lease of a claim: how long the federations of a coordinator that died wait for another. */
  COORDINATOR_LEASE_MS: countSetting(10_000, { min: 500, max: 600_000 }),
  /** A working participant is considered lost after this time without a byte or a heartbeat. */
  COORDINATOR_IDLE_MS: countSetting(60_000, { min: 1000, max: 3_600_000 }),
  COORDINATOR_POLL_MS: countSetting(500, { min: 10, max: 60_000 }),
  /** How long claims may fail before `/health` answers 503. */
  COORDINATOR_UNHEALTHY_MS: countSetting(15_000, { min: 100, max: 3_600_000 }),
  /** Most bytes of one update or model. */
  COORDINATOR_BLOB_BYTES_MAX: countSetting(16 * 1024 ** 3, { min: 1024, max: Number.MAX_SAFE_INTEGER }),
  /** Bytes of clients' tensors that one aggregation keeps in memory; the rest is read from disk again. */
  TRAINER_RECORD_BYTES: countSetting(64 * 1024 * 1024, { min: 0, max: Number.MAX_SAFE_INTEGER }),
  /** The token that edges and trainer nodes present. Without it, only this machine may call. */
  COORDINATOR_TOKEN: z.string().min(16, "must have 16 characters or more").optional(),
  /** The interval of sweeps for unreferenced blobs, and the age from which these are removed. */
  COORDINATOR_SWEEP_MS: countSetting(600_000, { min: 50, max: 86_400_000 }),
  COORDINATOR_BLOB_AGE_MS: countSetting(3_600_000, { min: 1000, max: 31_536_000_000 }),
  /** Whether participants may have private and loopback addresses. If unset, they may unless the deployment is exposed. */
  ALLOW_PRIVATE_NODES: developerFlag,
  LOG_LEVEL: z.enum(["fatal", "error", "warn", "info", "debug", "trace", "silent"]).default("info"),
};

/** The validated settings of a coordinator. */
export interface CoordinatorConfig {
  readonly port: number;
  readonly host: string;
  readonly controlAddress: string;
  readonly blobFolder: string;
  readonly federationsMax: number;
  readonly callsMax: number;
  readonly leaseMs: number;
  readonly idleMs: number;
  readonly pollMs: number;
  readonly unhealthyMs: number;
  readonly blobBytesMax: number;
  readonly recordBytes: number;
  readonly token: string | undefined;
  readonly sweepMs: number;
  readonly blobAgeMs: number;
  /** Whether participants may be in the operator's private network. */
  readonly allowPrivate: boolean;
  readonly logLevel: string;
}

/** Reads the coordinator's settings from the environment. */
export function readCoordinatorConfig(environment: Readonly<Record<string, string | undefined>>): CoordinatorConfig {
  const settings = readConfig(shape, environment);
  const host = settings.COORDINATOR_HOST ?? settings.HOST;
  if (!isLoopbackHost(host) && settings.COORDINATOR_TOKEN === undefined) {
    throw new ConfigError([
      `COORDINATOR_TOKEN: must be set, as ${host} can be reached from other machines; or set COORDINATOR_HOST=127.0.0.1 to accept calls from this machine only`,
    ]);
  }
  return {
    port: settings.COORDINATOR_PORT,
    host,
    controlAddress: settings.CONTROL_ADDRESS,
    blobFolder: resolve(settings.DATA_DIR, "coordinator-blobs"),
    federationsMax: settings.COORDINATOR_FEDERATIONS_MAX,
    callsMax: settings.COORDINATOR_CALLS_MAX,
    leaseMs: settings.COORDINATOR_LEASE_MS,
    idleMs: settings.COORDINATOR_IDLE_MS,
    pollMs: settings.COORDINATOR_POLL_MS,
    unhealthyMs: settings.COORDINATOR_UNHEALTHY_MS,
    blobBytesMax: settings.COORDINATOR_BLOB_BYTES_MAX,
    recordBytes: settings.TRAINER_RECORD_BYTES,
    token: settings.COORDINATOR_TOKEN,
    sweepMs: settings.COORDINATOR_SWEEP_MS,
    blobAgeMs: settings.COORDINATOR_BLOB_AGE_MS,
    allowPrivate: isOpen(settings.ALLOW_PRIVATE_NODES, isExposed(settings)),
    logLevel: settings.LOG_LEVEL,
  };
}
