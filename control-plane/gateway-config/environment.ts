import { type Findings, type Located, plain } from "./located.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

const REFERENCE = "os.environ/";

/** Plain values with every `os.environ/NAME` in them replaced. A variable that is missing or empty is a problem: better now than as a 401 later. */
export function createResolver(environment: Environment, findings: Findings): (node: Located, where: string) => unknown {
  return (node, where) =>
    plain(node, ({ at, value }) => {
      if (typeof value !== "string" || !value.startsWith(REFERENCE)) return value;
      const name = value.slice(REFERENCE.length).trim();
      const found = environment[name];
      if (found !== undefined && found !== "") return found;
      findings.problem(at, `${where}: the environment variable ${name} is not set`);
      return null;
    });
}

/** The environment with `environment_variables` of the file over it, as LiteLLM sets them. The process's own is left alone. */
export function withFileVariables(environment: Environment, section: Located | undefined, findings: Findings): Environment {
  if (!section || (section.kind === "scalar" && section.value === null)) return environment;
  if (section.kind !== "map") {
    findings.problem(section.at, "environment_variables must be a map of names to values");
    return environment;
  }
  const resolve = createResolver(environment, findings);
  const added: Record<string, string> = {};
  for (const [name, { node }] of section.entries) {
    if (node.kind !== "scalar") findings.problem(node.at, `environment_variables.${name} must be text`);
    const value = node.kind === "scalar" ? resolve(node, `environment_variables.${name}`) : null;
    if (value !== null) added[name] = String(value);
  }
  return { ...environment, ...added };
}
