import type { Findings, Located, LocatedMap } from "./located.ts";
import { checkType, coerce, type ValueType } from "./value-types.ts";

export const CACHE_PARAMS = "cache_params";

/** What has an effect of it. Addresses and passwords are not among them: edges are told where their Redis is by REDIS_URL. */
const SUPPORTED: Readonly<Record<string, ValueType>> = { type: "text", ttl: "number", mode: "text", supported_call_types: "texts" };
const OF_REDIS: ReadonlySet<string> = new Set([
  "host",
  "port",
  "password",
  "username",
  "url",
  "db",
  "ssl",
  "redis_startup_nodes",
  "service_name",
]);
const TYPES: readonly string[] = ["local", "redis"];
const TYPES_NOT_SUPPORTED: readonly string[] = "redis-semantic qdrant-semantic s3 gcs azure-blob disk".split(" ");
const MODES: readonly string[] = ["default_on", "default_off"];
const CALL_TYPES: readonly string[] = "completion text_completion embedding moderation".split(" ").flatMap((name) => [name, `a${name}`]);

/** litellm_settings.cache_params, without what has no effect; secrets in the rest are not even looked up. */
export function readCacheParams(
  root: LocatedMap,
  resolve: (node: Located, where: string) => unknown,
  findings: Findings,
): Readonly<Record<string, unknown>> {
  const section = root.entries.get("litellm_settings")?.node;
  const node = section?.kind === "map" ? section.entries.get(CACHE_PARAMS)?.node : undefined;
  if (!node || (node.kind === "scalar" && node.value === null)) return {};
  const where = `litellm_settings.${CACHE_PARAMS}`;
  if (node.kind !== "map") {
    findings.problem(node.at, `${where} must be a map`);
    return {};
  }
  const read: Record<string, unknown> = {};
  for (const [name, { keyAt, node: value }] of node.entries) {
    const type = Object.hasOwn(SUPPORTED, name) ? SUPPORTED[name] : undefined;
    if (type === undefined)
      findings.warn(keyAt, `${where}.${name} is not supported; it has no effect${OF_REDIS.has(name) ? REDIS_HINT : ""}`);
    else if (checkType(value, type, `${where}.${name}`, findings)) read[name] = coerce(resolve(value, `${where}.${name}`), type);
  }
  checkWords(node, read, findings);
  return { [CACHE_PARAMS]: read };
}

const REDIS_HINT = " (REDIS_URL names the Redis)";

function checkWords(node: LocatedMap, read: Record<string, unknown>, findings: Findings): void {
  const at = (name: string) => node.entries.get(name)?.node.at ?? node.at;
  const { type, mode, supported_call_types: callTypes } = read;
  if (TYPES_NOT_SUPPORTED.includes(String(type))) {
    findings.warn(at("type"), `a cache of the type ${String(type)} is not supported; answers are kept in memory`);
    read["type"] = "local";
  } else if (type !== undefined && !TYPES.includes(String(type))) {
    findings.problem(at("type"), `litellm_settings.cache_params.type must be one of ${TYPES.join(", ")}`);
  }
  if (mode !== undefined && !MODES.includes(String(mode))) {
    findings.problem(at("mode"), `litellm_settings.cache_params.mode must be one of ${MODES.join(", ")}`);
  }
  for (const name of Array.isArray(callTypes) ? callTypes.map(String) : []) {
    if (!CALL_TYPES.includes(name)) findings.warn(at("supported_call_types"), `answers of the type ${name} are not cached`);
  }
}
