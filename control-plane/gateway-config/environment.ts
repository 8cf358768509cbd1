import { resolve as absolute } from "node:path";
import { fileVariable, findSecret } from "../../common/secret-files.ts";
import { type ConfigIssues, type Located, plain } from "./located.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

export interface ResolverContext {
  readonly issues: ConfigIssues;
  /** Files whose change triggers a reload. */
  readonly files: Set<string>;
}

const REFERENCE = "os.environ/";

/**
 * Returns plain values with every `os.environ/NAME` replaced, from the variable or from the file that `NAME_FILE` names. A missing or empty
 * variable is a problem: better now than as a later 401. Files that are read are added to `files`.
 */
export function createResolver(environment: Environment, { issues, files }: ResolverContext): (node: Located, where: string) => unknown {
  return (node, where) =>
    plain(node, ({ at, value }) => {
      if (typeof value !== "string" || !value.startsWith(REFERENCE)) return value;
      const name = value.slice(REFERENCE.length).trim();
      const { value: found, problem = `the environment variable ${name} is not set`, file } = findSecret(name, environment);
      if (file !== undefined) files.add(absolute(file));
      if (found !== undefined) return found;
      issues.problem(at, `${where}: ${problem}`);
      return null;
    });
}

/** The environment overlaid with `environment_variables` of the file, as in LiteLLM. The environment of the process does not change. */
export function withFileVariables(environment: Environment, section: Located | undefined, context: ResolverContext): Environment {
  const { issues } = context;
  if (!section || (section.kind === "scalar" && section.value === null)) return environment;
  if (section.kind !== "map") {
    issues.problem(section.at, "environment_variables must be a map of names to values");
    return environment;
  }
  const resolved = createResolver(environment, context);
  const added: Record<string, string | undefined> = {};
  for (const [name, { node }] of section.entries) {
    if (node.kind !== "scalar") issues.problem(node.at, `environment_variables.${name} must be text`);
    const value = node.kind === "scalar" ? resolved(node, `environment_variables.${name}`) : null;
    if (value === null) continue;
    added[name] = String(value);
    added[fileVariable(name)] = undefined;
  }
  return { ...environment, ...added };
}
