import { ConfigError } from "../../common/config.ts";
import { checkGroups } from "./check-groups.ts";
import { createResolver, type Environment, withFileVariables } from "./environment.ts";
import type { ConfiguredDeployment, GatewayConfig } from "./gateway-config.ts";
import { SECTIONS, SECTIONS_NOT_SUPPORTED } from "./known-settings.ts";
import { ConfigIssues, type Located, type LocatedMap, type SourcePosition } from "./located.ts";
import { readConfigFiles } from "./read-files.ts";
import { type ModelContext, readModel } from "./read-model.ts";
import { isNull, readSettings } from "./read-settings.ts";

/** What a configuration is read from. */
export interface LoadOptions {
  path: string;
  environment: Environment;
  /** Names of models in the store, which fallbacks may name. */
  catalogNames: readonly string[];
  now: number;
  /** When the file was written: since when its models exist. Absent: now. */
  writtenAt?: number;
}

const MODELS_MAX = 10_000;
const STAMP_MIN = Date.UTC(2000, 0, 1);

/** An invalid configuration. `files` are watched, so that a correction is found. */
export class GatewayConfigError extends ConfigError {
  readonly files: readonly string[];

  constructor(problems: readonly string[], files: readonly string[]) {
    super(problems);
    this.files = files;
  }
}

/** Reads a LiteLLM `config.yaml`. Throws with every problem at once, each with its file and line. */
export function loadGatewayConfig(options: LoadOptions): GatewayConfig {
  const issues = new ConfigIssues();
  const { root, files: ownFiles } = readConfigFiles(options.path, issues);
  const files = new Set(ownFiles);
  warnSections(root, issues);
  const environment = withFileVariables(options.environment, root.entries.get("environment_variables")?.node, { issues, files });
  const resolve = createResolver(environment, { issues, files });
  const credentials = readCredentials(root.entries.get("credential_list")?.node, resolve, issues);
  const context: ModelContext = { resolve, environment, credentials, issues, files, now: options.now, bornAt: bornAt(options) };
  const deployments = readModels(root.entries.get("model_list")?.node, context);
  const { settings, masterKey } = readSettings(root, resolve, issues);
  checkGroups(root, { deployments, catalogNames: [...options.catalogNames, ...namesWritten(root)] }, issues);
  if (issues.problemCount > 0) throw new GatewayConfigError(issues.problems, [...files]);
  return { files: [...files], deployments, settings, ...(masterKey !== undefined && { masterKey }), warnings: issues.warnings };
}

/** A time stamp of a copied file may be in the future, or be none at all, as in images that are built reproducibly. */
function bornAt({ now, writtenAt = now }: LoadOptions): number {
  return writtenAt > STAMP_MIN && writtenAt < now ? Math.floor(writtenAt) : now;
}

function warnSections(root: LocatedMap, issues: ConfigIssues): void {
  for (const [name, { keyAt }] of root.entries) {
    if (SECTIONS.includes(name)) continue;
    issues.warn(keyAt, `${name} is not ${SECTIONS_NOT_SUPPORTED.includes(name) ? "supported" : "known"}; it has no effect`);
  }
}

function listOf(node: Located | undefined, name: string, issues: ConfigIssues): readonly Located[] {
  if (!node || isNull(node)) return [];
  if (node.kind === "list" && node.items.length <= MODELS_MAX) return node.items;
  issues.problem(node.at, `${name} must be a list of at most ${MODELS_MAX} entries`);
  return [];
}

function readCredentials(
  node: Located | undefined,
  resolve: ModelContext["resolve"],
  issues: ConfigIssues,
): Map<string, Record<string, unknown>> {
  const credentials = new Map<string, Record<string, unknown>>();
  for (const item of listOf(node, "credential_list", issues)) {
    const name = item.kind === "map" ? item.entries.get("credential_name")?.node : undefined;
    const values = item.kind === "map" ? item.entries.get("credential_values")?.node : undefined;
    if (name?.kind !== "scalar" || typeof name.value !== "string" || values?.kind !== "map") {
      issues.problem(item.at, "an entry of credential_list needs a credential_name and a map of credential_values");
    } else if (credentials.has(name.value)) {
      issues.problem(name.at, `the credential "${name.value}" is defined twice`);
    } else {
      credentials.set(name.value, resolve(values, `credential ${name.value}`) as Record<string, unknown>);
    }
  }
  return credentials;
}

function readModels(node: Located | undefined, context: ModelContext): ConfiguredDeployment[] {
  const taken = new Map<string, SourcePosition>();
  return listOf(node, "model_list", context.issues).flatMap((item) =>
    readModel(item, context).map((deployment) => withOwnId(deployment, item.at, taken, context.issues)),
  );
}

/** A repeated model_info.id is an error. Two equal entries are two deployments, as in LiteLLM; their order makes their ids distinct. */
function withOwnId(
  deployment: ConfiguredDeployment,
  at: SourcePosition,
  taken: Map<string, SourcePosition>,
  issues: ConfigIssues,
): ConfiguredDeployment {
  let { id } = deployment;
  const before = taken.get(id);
  if (before && deployment.info["id"] !== undefined) {
    issues.problem(at, `model_info.id "${id}" is taken by the entry at ${before.file}:${before.line}`);
  } else if (before) {
    issues.warn(
      at,
      `the model ${deployment.modelName} repeats the entry at ${before.file}:${before.line}; it counts as a second deployment`,
    );
    for (let copy = 2; taken.has(id); copy++) id = `${deployment.id}-${copy}`;
  }
  taken.set(id, at);
  return { ...deployment, id };
}

/** Names of all entries, so that a fallback to an invalid entry is not reported as a second problem. */
function namesWritten(root: LocatedMap): string[] {
  const list = root.entries.get("model_list")?.node;
  if (list?.kind !== "list") return [];
  return list.items.flatMap((item) => {
    const name = item.kind === "map" ? item.entries.get("model_name")?.node : undefined;
    return name?.kind === "scalar" && typeof name.value === "string" ? [name.value] : [];
  });
}
