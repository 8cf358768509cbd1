import type { ConfigIssues, Located, LocatedMap } from "./located.ts";
import { readSemanticParams, SEMANTIC_PARAMS, SEMANTIC_TYPES } from "./read-semantic-params.ts";
import { checkType, coerce, type ValueType } from "./value-types.ts";

export const CACHE_PARAMS = "cache_params";

/** Supported parameters. Addresses and passwords are not among them, because REDIS_URL configures the Redis of an edge. */
const SUPPORTED: Readonly<Record<string, ValueType>> = {
  type: "text",
  ttl: "number",
  mode: "text",
  supported_call_types: "texts",
  ...SEMANTIC_PARAMS,
};
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
const TYPES_NOT_SUPPORTED: readonly string[] = "s3 gcs azure-blob disk".split(" ");
const MODES: readonly string[] = ["default_on", "default_off"];
const CALL_TYPES: readonly string[] = "completion text_completion embedding moderation".split(" ").flatMap((name) => [name, `a${name}`]);

/** Reads litellm_settings.cache_params without unsupported parameters; their `os.environ/` references are not resolved. */
export function readCacheParams(
  root: LocatedMap,
  resolve: (node: Located, where: string) => unknown,
  issues: ConfigIssues,
): Readonly<Record<string, unknown>> {
  const section = root.entries.get("litellm_settings")?.node;
  const node = section?.kind === "map" ? section.entries.get(CACHE_PARAMS)?.node : undefined;
  if (!node || (node.kind === "scalar" && node.value === null)) return {};
  const where = `litellm_settings.${CACHE_PARAMS}`;
  if (node.kind !== "map") {
    issues.problem(node.at, `${where} must be a map`);
    return {};
  }
  const read: Record<string, unknown> = {};
  for (const [name, { keyAt, node: value }] of node.entries) {
    const type = Object.hasOwn(SUPPORTED, name) ? SUPPORTED[name] : undefined;
    if (type === undefined)
      issues.warn(keyAt, `${where}.${name} is not supported; it has no effect${OF_REDIS.has(name) ? REDIS_HINT : ""}`);
    else if (checkType(value, type, `${where}.${name}`, issues)) read[name] = coerce(resolve(value, `${where}.${name}`), type);
  }
  readSemanticParams(node, read, issues);
  checkWords(node, read, issues);
  return { [CACHE_PARAMS]: read };
}

const REDIS_HINT = " (REDIS_URL names the Redis)";

function checkWords(node: LocatedMap, read: Record<string, unknown>, issues: ConfigIssues): void {
  const at = (name: string) => node.entries.get(name)?.node.at ?? node.at;
  const { type, mode, supported_call_types: callTypes } = read;
  if (TYPES_NOT_SUPPORTED.includes(String(type))) {
    issues.warn(at("type"), `a cache of the type ${String(type)} is not supported; responses are cached in memory`);
    read["type"] = "local";
  } else if (type !== undefined && !TYPES.includes(String(type))) {
    issues.problem(
      at("type"),
      `litellm_settings.cache_params.type must be one of ${[...TYPES, ...Object.keys(SEMANTIC_TYPES)].join(", ")}`,
    );
  }
  if (mode !== undefined && !MODES.includes(String(mode))) {
    issues.problem(at("mode"), `litellm_settings.cache_params.mode must be one of ${MODES.join(", ")}`);
  }
  for (const name of Array.isArray(callTypes) ? callTypes.map(String) : []) {
    if (!CALL_TYPES.includes(name)) issues.warn(at("supported_call_types"), `responses of the type ${name} are not cached`);
  }
}
