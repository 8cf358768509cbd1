import { z } from "zod";
import { findSecret, isSecret } from "./secret-files.ts";

/** An invalid configuration; `problems` lists all problems, not only the first. */
export class ConfigError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`the configuration has ${problems.length} problem(s):\n${problems.map((problem) => `  - ${problem}`).join("\n")}`);
    this.name = "ConfigError";
    this.problems = problems;
  }
}

/** Where settings come from: the variables of a process. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** TRAINER_QUEUE_MAX is `trainerQueueMax` in code. */
type CamelCase<Name> = Name extends `${infer Head}_${infer Tail}`
  ? `${Lowercase<Head>}${Capitalize<CamelCase<Tail>>}`
  : Name extends string
    ? Lowercase<Name>
    : never;

/** What `readConfig` makes of a shape. */
export type Settings<Shape extends z.ZodRawShape> = { readonly [Name in keyof Shape as CamelCase<Name>]: z.infer<Shape[Name]> };

/**
 * Reads settings from the environment through one shape; an empty variable counts as unset. All problems at once. Each setting carries its
 * sentence (`describe`), and docs/settings.md is printed from the shapes; `meta({ shownDefault })` is for defaults that differ by machine.
 * A secret (`secretSetting`) may be in a file instead, which `NAME_FILE` names.
 */
export function readConfig<Shape extends z.ZodRawShape>(shape: Shape, environment: Environment): Settings<Shape> {
  const given: Record<string, string> = {};
  const problems: string[] = [];
  for (const [name, schema] of Object.entries(shape)) {
    const { value, problem } = isSecret(schema as z.ZodType) ? findSecret(name, environment) : { value: environment[name] };
    if (problem !== undefined) problems.push(problem);
    if (value !== undefined && value !== "") given[name] = value;
  }
  const result = z.object(shape).safeParse(given);
  for (const issue of result.error?.issues ?? []) problems.push(`${issue.path.join(".")}: ${issue.message}`);
  if (!result.success || problems.length > 0) throw new ConfigError(problems);
  const settings = Object.entries(result.data).map(([name, value]) => [camelCase(name), value]);
  return Object.fromEntries(settings) as Settings<Shape>;
}

const camelCase = (name: string): string => name.toLowerCase().replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());

export const portSetting = (fallback: number) =>
  z.coerce.number("must be a port number").int().min(0).max(65_535, "must be at most 65535").default(fallback);

export const countSetting = (fallback: number, { min, max }: { min: number; max: number }) =>
  z.coerce.number("must be a whole number").int().min(min).max(max).default(fallback);

/** How a process that serves HTTP stops. */
export const drainSettings = {
  DRAIN_DELAY_MS: countSetting(0, { min: 0, max: 300_000 }).describe(
    "How long a process that got SIGTERM goes on accepting while its readiness is false, so that a load balancer sees it before connections are refused.",
  ),
  DRAIN_MS: countSetting(120_000, { min: 0, max: 3_600_000 }).describe(
    "How long a stopping process waits for running calls after that. Then a stream ends with an error event, and other calls with an error.",
  ),
};

export const flagSetting = (fallback: boolean) =>
  z
    .enum(["true", "false", "1", "0"])
    .default(fallback ? "true" : "false")
    .transform(isOn);

/** A flag that is on by default on a developer's machine and must be set on an exposed deployment. */
export const developerFlag = z.enum(["true", "false", "1", "0"]).optional();

export const isOn = (flag: string): boolean => flag === "true" || flag === "1";

/** Texts separated by commas. */
export const listSetting = () =>
  z
    .string()
    .default("")
    .transform((text) =>
      text
        .split(",")
        .map((part) => part.trim())
        .filter((part) => part !== ""),
    );

export const dataDirSetting = z
  .string()
  .default("./data")
  .describe("Folder of everything that is stored on this machine: store, journals, blobs, logs. Files have mode 0600, folders 0700.");

export const logLevelSetting = z
  .enum(["fatal", "error", "warn", "info", "debug", "trace", "silent"])
  .default("info")
  .describe("Least level that is logged. `make run` writes logs to `DATA_DIR/logs`.");
