/** A setting of the gateway that an admin stored. */
export interface GatewaySettingRecord {
  /** `guardrail/<name>`. */
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

/** All stored settings of the gateway. */
export interface StoredSettings {
  guardrails: readonly StoredGuardrail[];
}

const GUARDRAIL = "guardrail/";

export const guardrailSetting = (name: string): string => `${GUARDRAIL}${name}`;

export function readStored(records: readonly GatewaySettingRecord[]): StoredSettings {
  const under = <Value>(prefix: string) => records.flatMap(({ id, value }) => (id.startsWith(prefix) ? [JSON.parse(value) as Value] : []));
  return {
    guardrails: under<StoredGuardrail>(GUARDRAIL).sort((left, right) => left.position - right.position),
  };
}
