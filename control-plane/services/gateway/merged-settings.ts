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
export function mergedSettings(file: GatewaySettings, stored: StoredSettings): GatewaySettings {
  const guardrails = [...(file.guardrails ?? []), ...stored.guardrails.filter(({ name }) => !isOfFile(file, name)).map(guardrailEntry)];
  return { ...file, ...(guardrails.length === 0 ? {} : { guardrails }) };
}

/** Whether the file has a guardrail of this name, which then is in force instead of a stored one. */
export function isOfFile({ guardrails = [] }: Pick<GatewaySettings, "guardrails">, name: string): boolean {
  return guardrails.some((entry) => entry["guardrail_name"] === name);
}

const MODES = { pre: ["pre_call"], post: ["post_call"], both: ["pre_call", "post_call"] } as const;

/** A stored guardrail as the file would have it. */
export function guardrailEntry({ name, kind, stage, byDefault, enabled, settings }: StoredGuardrail): Record<string, unknown> {
  return {
    guardrail_name: name,
    litellm_params: { ...settings, guardrail: kind, mode: MODES[stage], default_on: byDefault },
    ...(enabled ? {} : { enabled: false }),
  };
}
