import { toJson } from "../../../common/json.ts";
import { readStored, type StoredGuardrail, type StoredSettings } from "../../domain/gateway-settings.ts";
import type { GatewaySettings } from "../../gateway-config/gateway-config.ts";
import { collect } from "../../stores/page.ts";
import type { Reader } from "../../stores/store.ts";
import type { ControlDeps } from "../deps.ts";

/** Everything that admins stored of the gateway's settings. */
export async function storedSettings(reader: Reader): Promise<StoredSettings> {
  return readStored(await collect(reader.scan("gatewaySettings")));
}

/** The settings of the file with the stored ones, for edges. */
export async function settingsJson({ gateway, store }: Pick<ControlDeps, "gateway" | "store">): Promise<string> {
  return toJson(mergedSettings(gateway.current.settings, await storedSettings(store)));
}

/** What the file sets is in force; stored settings apply to what it leaves open. */
function mergedSettings(file: GatewaySettings, stored: StoredSettings): GatewaySettings {
  const guardrails = [...(file.guardrails ?? []), ...stored.guardrails.filter(({ name }) => !isOfFile(file, name)).map(guardrailEntry)];
  return {
    ...file,
    router_settings: mergedRouting(file, stored),
    litellm_settings: { ...(setsCache(file) ? {} : stored.cache), ...file.litellm_settings },
    ...(guardrails.length === 0 ? {} : { guardrails }),
  };
}

/** Whether the file says anything about the response cache: then it says all. */
export function setsCache({ litellm_settings: { cache, cache_params: params } }: GatewaySettings): boolean {
  return cache !== undefined || params !== undefined;
}

const FALLBACKS = {
  fallbacks: "fallbacks",
  contextWindowFallbacks: "context_window_fallbacks",
  contentPolicyFallbacks: "content_policy_fallbacks",
} as const;
/** The lists of fallbacks of a model group. */
export const FALLBACK_FIELDS = Object.keys(FALLBACKS) as (keyof typeof FALLBACKS)[];

/** The lists of fallbacks that the file has, of all groups. */
function fileFallbacks({ router_settings: router, litellm_settings: litellm }: GatewaySettings, field: keyof typeof FALLBACKS): object[] {
  const lists = router[FALLBACKS[field]] ?? litellm[FALLBACKS[field]];
  return Array.isArray(lists) ? (lists as object[]) : [];
}

function mergedRouting(file: GatewaySettings, { routing }: StoredSettings): GatewaySettings["router_settings"] {
  if (routing.size === 0) return file.router_settings;
  const groups = [...routing.values()];
  const strategies = groups.flatMap(({ model, strategy }) =>
    strategy === undefined ? [] : [{ models: [model], routing_strategy: strategy }],
  );
  const added = FALLBACK_FIELDS.flatMap((field) => {
    const own = groups.flatMap((group) => {
      const names = fileRoutingFields(file, group.model).includes(field) ? undefined : group[field];
      return names === undefined ? [] : [{ [group.model]: names }];
    });
    return own.length === 0 ? [] : [[FALLBACKS[field], [...fileFallbacks(file, field), ...own]] as const];
  });
  return {
    ...file.router_settings,
    ...Object.fromEntries(added),
    // The last entry of a model is in force, so that the file's are.
    ...(strategies.length === 0 ? {} : { routing_groups: [...strategies, ...fileGroups(file)] }),
  };
}

function fileGroups({ router_settings: router }: GatewaySettings): { models?: unknown }[] {
  return Array.isArray(router["routing_groups"]) ? (router["routing_groups"] as { models?: unknown }[]) : [];
}

/** What the file sets of a model group, as fields of `StoredRouting`. */
export function fileRoutingFields(file: GatewaySettings, model: string): string[] {
  const fallbacks = FALLBACK_FIELDS.filter((field) => fileFallbacks(file, field).some((lists) => Object.hasOwn(lists, model)));
  const hasStrategy = fileGroups(file).some(({ models }) => Array.isArray(models) && models.includes(model));
  return [...(hasStrategy ? ["strategy"] : []), ...fallbacks];
}

/** Weight and order of each deployment that admins stored, by its id. */
export function storedDeploymentParams({ routing }: StoredSettings): ReadonlyMap<string, { weight?: number; order?: number }> {
  return new Map([...routing.values()].flatMap(({ deployments }) => Object.entries(deployments)));
}

/** Whether the file has a guardrail of this name, which then is in force instead of a stored one. */
export function isOfFile({ guardrails = [] }: Pick<GatewaySettings, "guardrails">, name: string): boolean {
  return guardrails.some((entry) => entry["guardrail_name"] === name);
}

const MODES = { pre: ["pre_call"], post: ["post_call"], both: ["pre_call", "post_call"] } as const;

/** A stored guardrail as the file would have it. */
function guardrailEntry({ name, kind, stage, byDefault, enabled, settings }: StoredGuardrail): Record<string, unknown> {
  return {
    guardrail_name: name,
    litellm_params: { ...settings, guardrail: kind, mode: MODES[stage], default_on: byDefault },
    ...(enabled ? {} : { enabled: false }),
  };
}
