import { resolve } from "node:path";
import { z } from "zod";
import {
  countSetting,
  dataDirSetting,
  developerFlag,
  drainSettings,
  type Environment,
  logLevelSetting,
  portSetting,
  readConfig,
} from "../../common/config.ts";
import { isExposed, isOpen } from "../../common/exposed.ts";
import { metricsSettings } from "../../common/metrics/metrics-settings.ts";
import { controlClientSettings, readClientTls } from "../../common/peers/control-client.ts";
import { isCoordinatorAddress } from "../../common/peers/coordinator-address.ts";
import { requireTls } from "../../common/peers/tls.ts";
import { secretSetting } from "../../common/secret-files.ts";
import { blobsBytesMax, blobsLimitSettings } from "../../common/storage-limits.ts";
import { copiesSettings, requireOneWay } from "./blobs/copies/copies-config.ts";

/** The settings of the coordinator; docs/settings.md is printed from them. */
export const coordinatorSettings = {
  ...blobsLimitSettings,
  ...copiesSettings,
  COORDINATOR_PORT: portSetting(5100).describe("Port of the coordinator's HTTP API, which serves trained parameters by their hash."),
  COORDINATOR_HOST: z.string().optional().meta({
    description:
      "Address that the coordinator listens on. Beyond loopback it starts only with `TLS_CERT`, and callers need a certificate; `make run` leaves it on 127.0.0.1.",
    shownDefault: "`HOST`",
  }),
  COORDINATOR_ADVERTISE: z
    .string()
    .refine(isCoordinatorAddress, "must be a scheme, a host and a port, such as https://co.example.org:5100")
    .optional()
    .meta({
      description:
        "Address at which edges reach this coordinator. Edges ask the coordinator that has a federation's claim; without an address they use their `COORDINATOR_URL`.",
      shownDefault: "the address it listens on, unless that is all addresses of the machine",
    }),
  ...controlClientSettings,
  ...metricsSettings,
  ...drainSettings,
  DATA_DIR: dataDirSetting,
  COORDINATOR_FEDERATIONS_MAX: countSetting(16, { min: 1, max: 1000 }).describe("Most federations that run at the same time."),
  COORDINATOR_CALLS_MAX: countSetting(64, { min: 1, max: 10_000 }).describe("Most concurrent calls to participants, for each federation."),
  COORDINATOR_LEASE_MS: countSetting(10_000, { min: 500, max: 600_000 }).describe(
    "Lease of a claim: how long the federations of a coordinator that died wait for another.",
  ),
  COORDINATOR_IDLE_MS: countSetting(60_000, { min: 1000, max: 3_600_000 }).describe(
    "A working participant is considered lost after this time without a byte or a heartbeat.",
  ),
  COORDINATOR_POLL_MS: countSetting(500, { min: 10, max: 60_000 }).describe(
    "How often federations without a coordinator are looked for, by the control plane while this coordinator waits for its answer.",
  ),
  COORDINATOR_UNHEALTHY_MS: countSetting(15_000, { min: 100, max: 3_600_000 }).describe(
    "How long the coordinator may fail to get work from the control plane before its `/health` answers 503 with the reason; the first failure is in its log.",
  ),
  COORDINATOR_BLOB_BYTES_MAX: countSetting(16 * 1024 ** 3, { min: 1024, max: Number.MAX_SAFE_INTEGER }).describe(
    "Largest update or model.",
  ),
  TRAINER_RECORD_BYTES: countSetting(64 * 1024 * 1024, { min: 0, max: Number.MAX_SAFE_INTEGER }),
  COORDINATOR_TOKEN: secretSetting(
    z.string().min(16, "must have 16 characters or more").optional().meta({
      description:
        "Secret that edges and trainer nodes present to the coordinator, 16 or more characters; without it the coordinator answers its own machine only, or with TLS callers with a certificate.",
      shownDefault: "made by `make run` at every start",
    }),
  ),
  COORDINATOR_SWEEP_MS: countSetting(600_000, { min: 50, max: 86_400_000 }).describe("Interval of sweeps for unreferenced blobs."),
  COORDINATOR_BLOB_AGE_MS: countSetting(3_600_000, { min: 1000, max: 31_536_000_000 }).describe(
    "Age from which an unreferenced blob is removed.",
  ),
  ALLOW_PRIVATE_NODES: developerFlag,
  OWN_STRATEGIES: developerFlag,
  STRATEGY_PYTHON: z.string().min(1).default("python3").describe("Python with numpy that runs own strategies in that language."),
  STRATEGY_MS_MAX: countSetting(60_000, { min: 100, max: 3_600_000 }).describe("Deadline of an own strategy for one round."),
  STRATEGY_MEMORY_MB: countSetting(2048, { min: 64, max: 1_000_000 }).describe("Most memory of the process of an own strategy."),
  LOG_LEVEL: logLevelSetting,
};

/** The address that edges are told: what is set, else the one that the coordinator listens on, if it is one. */
export function advertisedAddress(
  config: { coordinatorAdvertise?: string | undefined; host: string; tls: object | undefined },
  port: number,
): string {
  if (config.coordinatorAdvertise !== undefined) return config.coordinatorAdvertise;
  if (config.host === "0.0.0.0" || config.host === "::") return "";
  const host = config.host.includes(":") ? `[${config.host}]` : config.host;
  return URL.parse(`${config.tls ? "https" : "http"}://${host}:${port}`)?.origin ?? "";
}

/** Reads the coordinator's settings from the environment. */
export function readCoordinatorConfig(environment: Environment) {
  const settings = readConfig(coordinatorSettings, environment);
  const host = settings.coordinatorHost ?? settings.host;
  const tls = readClientTls(settings, "coordinator");
  requireTls(tls, { variable: "COORDINATOR_HOST", host });
  requireOneWay(settings, tls !== undefined);
  return {
    ...settings,
    host,
    tls,
    blobFolder: resolve(settings.dataDir, "coordinator-blobs"),
    blobsBytesMaxPerOrganization: blobsBytesMax({ ...settings, host }),
    allowPrivateNodes: isOpen(settings.allowPrivateNodes, isExposed(settings)),
    ownStrategies: isOpen(settings.ownStrategies, isExposed(settings)),
  };
}
