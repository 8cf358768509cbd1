import { statSync } from "node:fs";
import { availableParallelism } from "node:os";
import { resolve } from "node:path";
import { z } from "zod";
import {
  ConfigError,
  countSetting,
  dataDirSetting,
  developerFlag,
  drainSettings,
  type Environment,
  flagSetting,
  portSetting,
  readConfig,
} from "../../common/config.ts";
import { isExposed, isLoopbackHost, isOpen, openingSettings, openingsOf } from "../../common/exposed.ts";
import { metricsSettings } from "../../common/metrics/metrics-settings.ts";
import { secretSetting } from "../../common/secret-files.ts";
import { ROTATION } from "./log-file.ts";

// Several edges share one port, so it cannot be 0.
const fixedPort = (fallback: number) => portSetting(fallback).refine((port) => port !== 0, "must not be 0");

const APART = "start each process by itself with a certificate of its own, as gw admin certs makes them (docs/operations/machines.md)";

/** What the supervisor itself reads; every other variable is passed on to the processes untouched. docs/settings.md is printed from it. */
export const runSettings = {
  ...openingSettings,
  PORT: fixedPort(4000),
  TRAINER_PORT: fixedPort(5000),
  CONTROL_PORT: fixedPort(4100),
  COORDINATOR_PORT: fixedPort(5100),
  CONTROL_HOST: z
    .string()
    .default("127.0.0.1")
    .refine(
      isLoopbackHost,
      `must be a loopback address with make run, which has no certificates: ${APART}, or reach it through a tunnel, such as ssh -L`,
    ),
  TRAINER_HOST: z.string().optional(),
  TRAINER_TOKEN: secretSetting(z.string().optional()),
  TRAINER_SECRET: secretSetting(z.string().optional()),
  TRAINER_ANONYMOUS: developerFlag,
  CONTROL_TOKEN: secretSetting(z.string().optional()),
  COORDINATOR_HOST: z.string().optional(),
  COORDINATOR_TOKEN: secretSetting(z.string().optional()),
  BLOB_SOURCE_TOKEN: secretSetting(z.string().optional()),
  // Absolute, because children must not depend on the working directory.
  DATA_DIR: dataDirSetting.transform((path) => resolve(path)).refine((path) => kindOf(path) !== "file", "must be a folder, but is a file"),
  EDGES: countSetting(availableParallelism(), { min: 1, max: 256 }).meta({
    description: "Edge processes behind the one port.",
    shownDefault: "one per core",
  }),
  CONFIG: z
    .string()
    .transform((path) => resolve(path))
    .refine((path) => kindOf(path) === "file", "is not an existing file")
    .optional()
    .describe("A LiteLLM `config.yaml` of models, providers and routing, such as `examples/litellm-config.yaml`."),
  METRICS_PORT: metricsSettings.METRICS_PORT,
  ...drainSettings,
  LOG_FILE_BYTES_MAX: countSetting(ROTATION.bytes, { min: 1024, max: 1024 * 1024 * 1024 }).describe(
    "Size at which `make run` puts a log file aside, while its process runs.",
  ),
  LOG_FILES_KEPT: countSetting(ROTATION.kept, { min: 1, max: 1000 }).describe(
    "Log files of each process that are retained beside the current one; `.1` is the newest.",
  ),
  LOG_TO_TERMINAL: flagSetting(false).describe("Whether `make run` shows the logs of all processes."),
};

export type RunSettings = ReturnType<typeof readSettings>;

export function readSettings(environment: Environment) {
  const settings = readConfig(runSettings, environment);
  if (environment["TLS_CERT"])
    throw new ConfigError([`TLS_CERT: cannot be set for make run, whose processes have several roles: ${APART}`]);
  const { host } = settings;
  const ports = [settings.port, settings.trainerPort, settings.controlPort, settings.coordinatorPort];
  if (new Set(ports).size < ports.length)
    throw new ConfigError([`PORT, TRAINER_PORT, CONTROL_PORT, COORDINATOR_PORT: must differ, they are ${ports.join(", ")}`]);
  const exposed = isExposed(settings);
  const isTrainerGuarded = isGuarded(settings.trainerToken, settings.trainerSecret);
  return {
    ...settings,
    /** Whether callers of this machine may use the trainer without its token. A token or secret that the operator set is required. */
    trainerAnonymous: isOpen(settings.trainerAnonymous, isTrainerGuarded || exposed),
    /** The trainer listens beyond this machine only with something that callers have to know, the coordinator only with a certificate. */
    trainerHost: settings.trainerHost ?? (isTrainerGuarded ? host : ownHost(host)),
    coordinatorHost: settings.coordinatorHost ?? ownHost(host),
    /** What every account may use, for the banner. */
    openings: openingsOf(settings),
    exposed,
    production: settings.nodeEnv === "production",
  };
}

const isGuarded = (...secrets: (string | undefined)[]): boolean => secrets.some((secret) => secret !== undefined);

const ownHost = (host: string): string => (isLoopbackHost(host) ? host : "127.0.0.1");

function kindOf(path: string): "file" | "folder" | "nothing" {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return "nothing";
  return found.isDirectory() ? "folder" : "file";
}
