import { createHash } from "node:crypto";
import { resolve as absolute } from "node:path";
import { defined } from "../../common/defined.ts";
import { configuredPrice, IMAGES_SETTING, imagesProblem, isPriceName } from "../../common/model-data/configured-price.ts";
import { LITELLM_MODES } from "../../common/model-data/litellm-modes.ts";
import { findModelData, type ModelData } from "../../common/model-data/model-data.ts";
import { type Capability, familyOf, type Mode } from "../../common/model-data/model-families.ts";
import { readClientParams } from "../../common/providers/client-params.ts";
import { findSecret } from "../../common/secret-files.ts";
import type { Environment } from "./environment.ts";
import type { ConfiguredDeployment } from "./gateway-config.ts";
import { LITELLM_PARAMS, MODEL_INFO } from "./known-settings.ts";
import { type ConfigIssues, type Located, type LocatedMap, plain, type SourcePosition } from "./located.ts";
import { readNamedFiles } from "./named-files.ts";
import { type NamedProvider, providerOf } from "./provider-of.ts";
import { checkType, coerce, type ValueType } from "./value-types.ts";

type Fields = Record<string, unknown>;

/** What entries of `model_list` are read with. */
export interface ModelContext {
  resolve: (node: Located, where: string) => unknown;
  environment: Environment;
  credentials: ReadonlyMap<string, Fields>;
  issues: ConfigIssues;
  /** Files whose change triggers a reload. */
  files: Set<string>;
  now: number;
  /** When the models of the file were created, as far as is known. */
  bornAt: number;
}

/** Reads one entry of `model_list`: one deployment, or one per listed organization. Empty if the entry is invalid. */
export function readModel(node: Located, context: ModelContext): ConfiguredDeployment[] {
  const { issues } = context;
  const problemsBefore = issues.problemCount;
  if (node.kind !== "map") {
    issues.problem(node.at, "an entry of model_list must be a map with model_name and litellm_params");
    return [];
  }
  const modelName = readName(node, issues);
  const paramsNode = mapIn(node, "litellm_params", issues);
  if (!paramsNode) issues.problem(node.at, `the model ${modelName ?? ""} has no litellm_params`.replace("  ", " "));
  const infoNode = mapIn(node, "model_info", issues);
  const params = paramsNode ? readFields(paramsNode, "litellm_params", LITELLM_PARAMS, context) : {};
  const info = infoNode ? readFields(infoNode, "model_info", MODEL_INFO, context) : {};
  withCredential(params, paramsNode, context);
  const provider = paramsNode && readProvider(params, paramsNode, issues);
  if (modelName === undefined || !paramsNode || !provider || issues.problemCount > problemsBefore) return [];
  const organizations = Array.isArray(params["organization"]) ? (params["organization"] as string[]) : [undefined];
  const written = plain(paramsNode) as Fields;
  const explicitId = typeof info["id"] === "string" && info["id"] !== "" ? info["id"] : undefined;
  return organizations.map((organization, index) => {
    const own = organization === undefined ? params : { ...params, organization };
    const id = explicitId ?? stableId(modelName, organization === undefined ? written : { ...written, organization });
    const suffix = explicitId !== undefined && organizations.length > 1 ? `-${index + 1}` : "";
    return toDeployment({ id: id + suffix, modelName, params: own, info, provider, at: paramsNode.at }, context);
  });
}

interface ModelEntry {
  id: string;
  modelName: string;
  params: Fields;
  info: Fields;
  provider: NamedProvider;
  at: SourcePosition;
}

function toDeployment(entry: ModelEntry, context: ModelContext): ConfiguredDeployment {
  const { info, provider, modelName } = entry;
  const { declaration, inferenceModelId } = provider;
  const { kind } = declaration;
  const { params, tls } = readNamedFiles(entry.params, entry.at, context);
  const { model: _model, api_key: apiKey, api_base: apiBase, base_url: baseUrl, ...rest } = withDefaults({ ...entry, params }, context);
  const address = (apiBase ?? baseUrl) as string | undefined;
  checkAddress(entry, address, context.issues);
  const keyVariable = declaration.environment["api_key"]?.[0];
  if (apiKey === undefined && keyVariable !== undefined && !declaration.isLocal && kind !== "bedrock") {
    context.issues.warn(entry.at, `the model ${modelName} has no api_key, and ${keyVariable} is not set`);
  }
  checkClientParams(entry, context.issues);
  const data = dataOf(provider, info, context.now);
  const price = configuredPrice(rest, info, { kind, data });
  return {
    id: entry.id,
    modelName,
    providerKind: kind,
    inferenceModelId,
    ...defined({ baseUrl: address, apiKey: apiKey as string | undefined, price, tls }),
    params: { ...rest, custom_llm_provider: provider.litellmName },
    info,
    type: typeOf(entry, data, context.issues),
    description: typeof info["description"] === "string" ? info["description"] : "",
    ...defined({
      contextWindow: tokensOf(info["max_input_tokens"]) ?? data?.contextWindow,
      maxOutputTokens: tokensOf(info["max_output_tokens"]) ?? tokensOf(info["max_tokens"]) ?? data?.maxOutputTokens,
    }),
    capabilities: capabilitiesOf(data?.capabilities ?? familyOf(inferenceModelId).capabilities, info),
    createdAt: context.bornAt,
  };
}

function readName(node: LocatedMap, issues: ConfigIssues): string | undefined {
  const name = node.entries.get("model_name")?.node;
  if (name?.kind === "scalar" && typeof name.value === "string" && name.value !== "") return name.value;
  issues.problem(name?.at ?? node.at, "an entry of model_list needs a model_name that is text");
  return undefined;
}

function mapIn(node: LocatedMap, name: string, issues: ConfigIssues): LocatedMap | undefined {
  const found = node.entries.get(name)?.node;
  if (!found || (found.kind === "scalar" && found.value === null)) return undefined;
  return checkType(found, "map", name, issues) ? (found as LocatedMap) : undefined;
}

/** Null values are dropped, as in LiteLLM. */
function readFields(node: LocatedMap, where: string, types: Readonly<Record<string, ValueType>>, context: ModelContext): Fields {
  const read = [...node.entries].flatMap(([name, { node: value }]): [string, unknown][] => {
    const type = Object.hasOwn(types, name) ? types[name] : undefined;
    const found = readField({ name: `${where}.${name}`, type, isPrice: isPriceName(name), value }, context);
    return found === null ? [] : [[name, found]];
  });
  return Object.fromEntries(read);
}

function readField(field: { name: string; type: ValueType | undefined; isPrice: boolean; value: Located }, context: ModelContext): unknown {
  const { name, type, isPrice, value } = field;
  if (value.kind === "scalar" && value.value === null) return null;
  const expected = isPrice && value.kind === "scalar" ? "number" : type;
  if (expected !== undefined && !checkType(value, expected, name, context.issues)) return null;
  const resolved = context.resolve(value, name);
  const problem = name.endsWith(`.${IMAGES_SETTING}`) ? imagesProblem(resolved) : undefined;
  if (problem) context.issues.problem(value.at, `${name}: ${problem}`);
  // A price stays text, because it is parsed as a decimal, not as a float.
  return type === undefined || resolved === null ? resolved : coerce(resolved, type);
}

/** Fills in the values of a named credential; values of the entry win. */
function withCredential(params: Fields, node: LocatedMap | undefined, { credentials, issues }: ModelContext): void {
  const name = params["litellm_credential_name"];
  if (typeof name !== "string" || !node) return;
  const values = credentials.get(name);
  if (!values) {
    const at = node.entries.get("litellm_credential_name")?.node.at ?? node.at;
    issues.problem(at, `there is no credential "${name}" in credential_list`);
    return;
  }
  for (const [key, value] of Object.entries(values)) if (params[key] === undefined) params[key] = value;
}

function readProvider(params: Fields, node: LocatedMap, issues: ConfigIssues): NamedProvider | undefined {
  const model = params["model"];
  if (typeof model !== "string" || model === "") {
    if (!node.entries.has("model")) issues.problem(node.at, "litellm_params.model is missing");
    return undefined;
  }
  const custom = params["custom_llm_provider"];
  const provider = providerOf(model, typeof custom === "string" && custom !== "" ? custom : undefined);
  if (typeof provider !== "string") return provider;
  issues.problem(node.entries.get("model")?.node.at ?? node.at, provider);
  return undefined;
}

const AWS_IDENTITY = ["aws_access_key_id", "aws_secret_access_key", "aws_session_token", "aws_profile_name", "aws_role_name", "api_key"];

/** Fills in missing parameters from the provider's usual environment variables, or the files that they name. */
function withDefaults({ params, provider, at }: ModelEntry, context: ModelContext): Fields {
  const filled: Fields = { ...params };
  // An AWS identity must not be mixed from the entry and the environment.
  const hasOwnIdentity = AWS_IDENTITY.some((name) => params[name] !== undefined);
  if (provider.region !== undefined) filled["aws_region_name"] ??= provider.region;
  for (const [name, variables] of Object.entries(provider.declaration.environment)) {
    if (filled[name] !== undefined || (hasOwnIdentity && AWS_IDENTITY.includes(name))) continue;
    if (name === "api_base" && filled["base_url"] !== undefined) continue;
    const value = firstOf(variables, { ...context, at });
    if (value !== undefined) filled[name] = value;
  }
  return filled;
}

interface Lookup extends Pick<ModelContext, "environment" | "issues" | "files"> {
  readonly at: SourcePosition;
}

function firstOf(variables: readonly string[], { at, environment, issues, files }: Lookup): string | undefined {
  const found = variables.map((variable) => findSecret(variable, environment));
  for (const { problem, file } of found) {
    if (problem !== undefined) issues.problem(at, problem);
    if (file !== undefined) files.add(absolute(file));
  }
  return found.find(({ value }) => value !== undefined)?.value;
}

function checkAddress({ provider, modelName, at }: ModelEntry, address: string | undefined, issues: ConfigIssues): void {
  if (address === undefined) {
    if (provider.declaration.needsBaseUrl) issues.problem(at, `the model ${modelName} of ${provider.litellmName} needs an api_base`);
    return;
  }
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url?.protocol !== "http:" && url?.protocol !== "https:") {
    issues.problem(at, `the model ${modelName} has an api_base that is not an http or https address`);
  }
}

function checkClientParams({ provider, modelName, params, at }: ModelEntry, issues: ConfigIssues): void {
  const listed = params["configurable_clientside_auth_params"];
  if (listed === undefined) return;
  const where = `configurable_clientside_auth_params of the model ${modelName}`;
  const read = readClientParams(provider.declaration.kind, listed);
  if (!read.rules) issues.problem(at, `${where}: ${read.problem}`);
  else for (const what of read.ignored) issues.warn(at, `${where}: ${what}`);
}

/** Looked up by `base_model`, which names the real model of an Azure deployment, else by the model itself. */
function dataOf({ declaration: { kind }, inferenceModelId }: NamedProvider, info: Fields, now: number): ModelData | undefined {
  const at = new Date(now);
  const base = typeof info["base_model"] === "string" ? providerOf(info["base_model"]) : undefined;
  const byBase = typeof base === "object" ? findModelData({ kind: base.declaration.kind, model: base.inferenceModelId, at }) : undefined;
  return byBase ?? findModelData({ kind, model: inferenceModelId, at });
}

function typeOf({ info, provider, modelName, at }: ModelEntry, data: ModelData | undefined, issues: ConfigIssues): Mode {
  const mode = info["mode"];
  if (typeof mode !== "string") return data?.mode ?? familyOf(provider.inferenceModelId).mode;
  const type = Object.hasOwn(LITELLM_MODES, mode) ? LITELLM_MODES[mode] : undefined;
  if (type === undefined) issues.warn(at, `model_info.mode "${mode}" of the model ${modelName} is not supported; chat is used`);
  return type ?? "chat";
}

const TOKENS_MAX = 2 ** 31 - 1;

function tokensOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isInteger(value) && value > 0 ? Math.min(value, TOKENS_MAX) : undefined;
}

function capabilitiesOf(known: readonly Capability[], info: Fields): Capability[] {
  const found = new Set<string>(known);
  for (const [name, value] of Object.entries(info)) {
    const capability = /^supports_(\w+)$/.exec(name)?.[1];
    if (capability !== undefined && value === true) found.add(capability);
    if (capability !== undefined && value === false) found.delete(capability);
  }
  return [...found] as Capability[];
}

/** Hash of the entry as written, before resolving references, so that a rotated key does not change the id. */
function stableId(modelName: string, params: Fields): string {
  return createHash("sha256")
    .update(canonical([modelName, params]))
    .digest("hex");
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([left], [right]) => (left < right ? -1 : 1)))
      : inner,
  );
}
