import { fileVariable, findSecret } from "../../common/secret-files.ts";
import { type ConfigIssues, type Located, plain } from "./located.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

const REFERENCE = "os.environ/";

/**
 * Returns plain values with every `os.environ/NAME` replaced, from the variable or from the file that `NAME_FILE` names. A missing or empty
 * variable is a problem: better now than as a later 401.
 */
export function createResolver(environment: Environment, issues: ConfigIssues): (node: Located, where: string) => unknown {
  return (node, where) =>
    plain(node, ({ at, value }) => {
      if (typeof value !== "string" || !value.startsWith(REFERENCE)) return value;
      const name = value.slice(REFERENCE.length).trim();
      const { value: found, problem = `the environment variable ${name} is not set` } = findSecret(name, environment);
      if (found !== undefined) return found;
      issues.problem(at, `${where}: ${problem}`);
      return null;
    });
}

/** The environment overlaid with `environment_variables` of the file, as in LiteLLM. The environment of the process does not change. */
export function withFileVariables(environment: Environment, section: Located | undefined, issues: ConfigIssues): Environment {
  if (!section || (section.kind === "scalar" && section.value === null)) return environment;
  if (section.kind !== "map") {
    issues.problem(section.at, "environment_variables must be a map of names to values");
    return environment;
  }
  const resolve = createResolver(environment, issues);
  const added: Record<string, string | undefined> = {};
  for (const [name, { node }] of section.entries) {
    if (node.kind !== "scalar") issues.problem(node.at, `environment_variables.${name} must be text`);
    const value = node.kind === "scalar" ? resolve(node, `environment_variables.${name}`) : null;
    if (value === null) continue;
    added[name] = String(value);
    added[fileVariable(name)] = undefined;
  }
  return { ...environment, ...added };
}
