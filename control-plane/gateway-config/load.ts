import { ConfigError } from "../../common/config.ts";
import { checkGroups } from "./check-groups.ts";
import { createResolver, type Environment, withFileVariables } from "./environment.ts";
import type { ConfiguredDeployment, GatewayConfig } from "./gateway-config.ts";
import { SECTIONS, SECTIONS_NOT_SUPPORTED } from "./known-settings.ts";
import { Findings, type Located, type LocatedMap, type Position } from "./located.ts";
import { readConfigFiles } from "./read-files.ts";
import { type ModelContext, readModel } from "./read-model.ts";
import { isNull, readSettings } from "./read-settings.ts";

export interface LoadOptions {
  path: string;
  environment: Environment;
  /** Models of the store: a fallback may lead to them. */
  catalogNames: readonly string[];
  now: number;
}

const MODELS_MAX = 10_000;

/** A problem of the file leaves these files to watch: the answer to a refused configuration is another look at them. */
export class GatewayConfigError extends ConfigError {
  readonly files: readonly string[];

  constructor(problems: readonly string[], files: readonly string[]) {
    super(problems);
    this.files = files;
  }
}

/** Reads a LiteLLM `config.yaml`. Throws with every problem at once, each with its file and line. */
export function loadGatewayConfig(options: LoadOptions): GatewayConfig {
  const findings = new Findings();
  const { root, files } = readConfigFiles(options.path, findings);
  warnSections(root, findings);
  const environment = withFileVariables(options.environment, root.entries.get("environment_variables")?.node, findings);
  const resolve = createResolver(environment, findings);
  const credentials = readCredentials(root.entries.get("credential_list")?.node, resolve, findings);
  const context: ModelContext = { resolve, environment, credentials, findings, now: options.now };
  const deployments = readModels(root.entries.get("model_list")?.node, context);
  const { settings, masterKey } = readSettings(root, resolve, findings);
  checkGroups(root, { deployments, catalogNames: [...options.catalogNames, ...namesWritten(root)] }, findings);
  if (findings.problemCount > 0) throw new GatewayConfigError(findings.problems, files);
  return { files, deployments, settings, ...(masterKey !== undefined && { masterKey }), warnings: findings.warnings };
}

function warnSections(root: LocatedMap, findings: Findings): void {
  for (const [name, { keyAt }] of root.entries) {
    if (SECTIONS.includes(name)) continue;
    findings.warn(keyAt, `${name} is not ${SECTIONS_NOT_SUPPORTED.includes(name) ? "supported" : "known"}; it has no effect`);
  }
}

function listOf(node: Located | undefined, name: string, findings: Findings): readonly Located[] {
  if (!node || isNull(node)) return [];
  if (node.kind === "list" && node.items.length <= MODELS_MAX) return node.items;
  findings.problem(node.at, `${name} must be a list of at most ${MODELS_MAX} entries`);
  return [];
}

function readCredentials(
  node: Located | undefined,
  resolve: ModelContext["resolve"],
  findings: Findings,
): Map<string, Record<string, unknown>> {
  const credentials = new Map<string, Record<string, unknown>>();
  for (const item of listOf(node, "credential_list", findings)) {
    const name = item.kind === "map" ? item.entries.get("credential_name")?.node : undefined;
    const values = item.kind === "map" ? item.entries.get("credential_values")?.node : undefined;
    if (name?.kind !== "scalar" || typeof name.value !== "string" || values?.kind !== "map") {
      findings.problem(item.at, "an entry of credential_list needs a credential_name and a map of credential_values");
    } else if (credentials.has(name.value)) {
      findings.problem(name.at, `the credential "${name.value}" is there twice`);
    } else {
      credentials.set(name.value, resolve(values, `credential ${name.value}`) as Record<string, unknown>);
    }
  }
  return credentials;
}

function readModels(node: Located | undefined, context: ModelContext): ConfiguredDeployment[] {
  const taken = new Map<string, Position>();
  return listOf(node, "model_list", context.findings).flatMap((item) =>
    readModel(item, context).map((deployment) => withOwnId(deployment, item.at, taken, context.findings)),
  );
}

/** An id that the operator gave twice is his mistake. Two entries that are equal are two deployments, as in LiteLLM, and told apart by their order. */
function withOwnId(deployment: ConfiguredDeployment, at: Position, taken: Map<string, Position>, findings: Findings): ConfiguredDeployment {
  let { id } = deployment;
  const before = taken.get(id);
  if (before && deployment.info["id"] !== undefined) {
    findings.problem(at, `model_info.id "${id}" is taken by the entry at ${before.file}:${before.line}`);
  } else if (before) {
    findings.warn(at, `the model ${deployment.modelName} is the same as the one at ${before.file}:${before.line}; it counts twice`);
    for (let copy = 2; taken.has(id); copy++) id = `${deployment.id}-${copy}`;
  }
  taken.set(id, at);
  return { ...deployment, id };
}

/** Names of entries that were refused for another reason: a fallback to one of them is not a second mistake. */
function namesWritten(root: LocatedMap): string[] {
  const list = root.entries.get("model_list")?.node;
  if (list?.kind !== "list") return [];
  return list.items.flatMap((item) => {
    const name = item.kind === "map" ? item.entries.get("model_name")?.node : undefined;
    return name?.kind === "scalar" && typeof name.value === "string" ? [name.value] : [];
  });
}
