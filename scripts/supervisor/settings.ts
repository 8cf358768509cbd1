import { statSync } from "node:fs";
import { availableParallelism } from "node:os";
import { resolve } from "node:path";
import { z } from "zod";
import { ConfigError, countSetting, flagSetting, portSetting, readConfig } from "../../common/config.ts";
import { controlHostSetting, isLoopbackHost, type Openings, openingSettings, openingsOf } from "../../common/exposed.ts";

export interface RunSettings {
  readonly port: number;
  readonly trainerPort: number;
  readonly controlPort: number;
  readonly coordinatorPort: number;
  readonly host: string;
  readonly controlHost: string;
  /** The trainer and the coordinator listen beyond this machine only with something that callers have to know. */
  readonly trainerHost: string;
  readonly coordinatorHost: string;
  /** Absolute: children may not depend on where they were started. */
  readonly dataFolder: string;
  readonly edges: number;
  readonly config: string | undefined;
  readonly logToTerminal: boolean;
  /** What every account may use, for the banner. */
  readonly openings: Openings;
  readonly production: boolean;
}

// Several edges share one port, so "any free port" cannot be meant here.
const fixedPort = (fallback: number) => portSetting(fallback).refine((port) => port !== 0, "must not be 0");

const shape = {
  ...openingSettings,
  PORT: fixedPort(4000),
  TRAINER_PORT: fixedPort(5000),
  CONTROL_PORT: fixedPort(4100),
  COORDINATOR_PORT: fixedPort(5100),
  HOST: z.string().default("127.0.0.1"),
  CONTROL_HOST: controlHostSetting,
  TRAINER_HOST: z.string().optional(),
  TRAINER_TOKEN: z.string().optional(),
  TRAINER_SECRET: z.string().optional(),
  COORDINATOR_HOST: z.string().optional(),
  COORDINATOR_TOKEN: z.string().optional(),
  DATA_DIR: z
    .string()
    .default("./data")
    .transform((path) => resolve(path))
    .refine((path) => kindOf(path) !== "file", "is a file, it must be a folder"),
  EDGES: countSetting(availableParallelism(), { min: 1, max: 256 }),
  CONFIG: z
    .string()
    .transform((path) => resolve(path))
    .refine((path) => kindOf(path) === "file", "names a file that is not there")
    .optional(),
  LOG_TO_TERMINAL: flagSetting(false),
};

/** What the supervisor itself needs to know; every other variable is the children's own business and is passed on untouched. */
export function readSettings(environment: Readonly<Record<string, string | undefined>>): RunSettings {
  const read = readConfig(shape, environment);
  const ports = [read.PORT, read.TRAINER_PORT, read.CONTROL_PORT, read.COORDINATOR_PORT];
  if (new Set(ports).size < ports.length)
    throw new ConfigError([`PORT, TRAINER_PORT, CONTROL_PORT, COORDINATOR_PORT: must differ, they are ${ports.join(", ")}`]);
  return {
    port: read.PORT,
    trainerPort: read.TRAINER_PORT,
    controlPort: read.CONTROL_PORT,
    coordinatorPort: read.COORDINATOR_PORT,
    host: read.HOST,
    controlHost: read.CONTROL_HOST,
    trainerHost: read.TRAINER_HOST ?? (isGuarded(read.TRAINER_TOKEN, read.TRAINER_SECRET) ? read.HOST : ownHost(read.HOST)),
    coordinatorHost: read.COORDINATOR_HOST ?? (isGuarded(read.COORDINATOR_TOKEN) ? read.HOST : ownHost(read.HOST)),
    dataFolder: read.DATA_DIR,
    edges: read.EDGES,
    config: read.CONFIG,
    logToTerminal: read.LOG_TO_TERMINAL,
    openings: openingsOf(read),
    production: read.NODE_ENV === "production",
  };
}

const isGuarded = (...secrets: (string | undefined)[]): boolean => secrets.some((secret) => secret !== undefined);

const ownHost = (host: string): string => (isLoopbackHost(host) ? host : "127.0.0.1");

function kindOf(path: string): "file" | "folder" | "nothing" {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return "nothing";
  return found.isDirectory() ? "folder" : "file";
}
