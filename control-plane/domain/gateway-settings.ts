/** A setting of the gateway that an admin stored. */
export interface GatewaySettingRecord {
  /** `guardrail/<name>`, `cache` or `routing/<model group>`. */
  id: string;
  /** JSON text, because a store may refuse keys such as `$ref` in fields of its own. */
  value: string;
  createdAt: number;
  updatedAt: number;
}

export type GuardrailStage = "pre" | "post" | "both";

export interface StoredGuardrail {
  name: string;
  kind: string;
  stage: GuardrailStage;
  byDefault: boolean;
  enabled: boolean;
  settings: Record<string, unknown>;
  /** Stored guardrails are applied in ascending order. */
  position: number;
}

/** Under the names that `litellm_settings` has in the configuration file. */
export interface StoredCache {
  cache: boolean;
  cache_params: Record<string, unknown>;
}

/** What an admin set of a model group; absent fields are not set. */
export interface StoredRouting {
  model: string;
  strategy?: string;
  /** By the id of the deployment. */
  deployments: Record<string, { weight?: number; order?: number }>;
  fallbacks?: string[];
  contextWindowFallbacks?: string[];
  contentPolicyFallbacks?: string[];
}

/** All stored settings of the gateway. */
export interface StoredSettings {
  guardrails: readonly StoredGuardrail[];
  cache: StoredCache | undefined;
  routing: ReadonlyMap<string, StoredRouting>;
}

const GUARDRAIL = "guardrail/";
const ROUTING = "routing/";
export const CACHE_SETTING = "cache";

export const guardrailSetting = (name: string): string => `${GUARDRAIL}${name}`;
export const routingSetting = (model: string): string => `${ROUTING}${model}`;

export function readStored(records: readonly GatewaySettingRecord[]): StoredSettings {
  const under = <Value>(prefix: string) => records.flatMap(({ id, value }) => (id.startsWith(prefix) ? [JSON.parse(value) as Value] : []));
  return {
    guardrails: under<StoredGuardrail>(GUARDRAIL).sort((left, right) => left.position - right.position),
    cache: under<StoredCache>(CACHE_SETTING)[0],
    routing: new Map(under<StoredRouting>(ROUTING).map((routing) => [routing.model, routing])),
  };
}
