import { z } from "zod";

/** An invalid configuration; `problems` lists all problems, not only the first. */
export class ConfigError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`the configuration has ${problems.length} problem(s):\n${problems.map((problem) => `  - ${problem}`).join("\n")}`);
    this.name = "ConfigError";
    this.problems = problems;
  }
}

/** Reads settings from the environment with one schema; an empty variable counts as unset. The error lists all problems at once. */
export function readConfig<Shape extends z.ZodRawShape>(
  shape: Shape,
  environment: Readonly<Record<string, string | undefined>>,
): z.infer<z.ZodObject<Shape>> {
  const given: Record<string, string> = {};
  for (const name of Object.keys(shape)) {
    const value = environment[name];
    if (value !== undefined && value !== "") given[name] = value;
  }
  const result = z.object(shape).safeParse(given);
  if (result.success) return result.data;
  throw new ConfigError(result.error.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`));
}

export const portSetting = (fallback: number) =>
  z.coerce.number("must be a port number").int().min(0).max(65_535, "must be at most 65535").default(fallback);

export const countSetting = (fallback: number, { min, max }: { min: number; max: number }) =>
  z.coerce.number("must be a whole number").int().min(min).max(max).default(fallback);

export const flagSetting = (fallback: boolean) =>
  z
    .enum(["true", "false", "1", "0"])
    .default(fallback ? "true" : "false")
    .transform(isOn);

/** A flag that is on by default on a developer's machine and must be set on an exposed deployment. */
export const developerFlag = z.enum(["true", "false", "1", "0"]).optional();

export const isOn = (flag: string): boolean => flag === "true" || flag === "1";

/** Whether admins may set private provider URLs. Outside production this is the default, because the upstream is often local. */
export const privateUpstreamSettings = { ALLOW_PRIVATE_UPSTREAMS: developerFlag, NODE_ENV: z.string().optional() };

export function allowsPrivateUpstreams({
  ALLOW_PRIVATE_UPSTREAMS: flag,
  NODE_ENV: environment,
}: {
  ALLOW_PRIVATE_UPSTREAMS?: z.infer<typeof developerFlag>;
  NODE_ENV?: string | undefined;
}): boolean {
  return flag === undefined ? environment !== "production" : isOn(flag);
}
