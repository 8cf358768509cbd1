interface Bounds {
  readonly min?: number;
  readonly max?: number;
  readonly above?: number;
  readonly below?: number;
  readonly whole?: true;
}

interface SettingFacts {
  readonly description: string;
  /**
   * "federation": the coordinator reads it, and `/aggregate` has no such setting. "aggregate": a call of `/aggregate` gives it, and in a
   * federation the coordinator fills it in, round by round. Absent: both have it.
   */
  readonly only?: "federation" | "aggregate";
}

/** What a setting may be. A `list` has one number for each client, in the order of the request. */
export type Setting =
  | (SettingFacts & Bounds & { readonly type: "number"; readonly default?: number; readonly required?: true })
  | (SettingFacts & Bounds & { readonly type: "list"; readonly default?: number; readonly required?: true })
  | (SettingFacts & { readonly type: "choice"; readonly of: readonly string[]; readonly default: string });

export type SettingTable = Readonly<Record<string, Setting>>;

/** The settings that `/aggregate` takes, or those that a federation may set. */
export function settingsOf(table: SettingTable, scope: "federation" | "aggregate"): SettingTable {
  return Object.fromEntries(Object.entries(table).filter(([, { only }]) => only === undefined || only === scope));
}

/** Why one value is not valid for a setting; a value of a list is checked by itself. */
export function settingProblem(setting: Setting, value: unknown): string | undefined {
  if (setting.type === "choice") {
    return typeof value === "string" && setting.of.includes(value) ? undefined : `must be one of: ${setting.of.join(", ")}`;
  }
  const { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY, whole } = setting;
  const { above = Number.NEGATIVE_INFINITY, below = Number.POSITIVE_INFINITY } = setting;
  const isNumber = typeof value === "number" && Number.isFinite(value) && (!whole || Number.isInteger(value));
  return isNumber && value >= min && value <= max && value > above && value < below ? undefined : `must be ${boundsText(setting)}`;
}

/** One line for people, as `/v1/info` has it. */
export function describeSetting(setting: Setting): string {
  if (setting.type === "choice") return `${setting.description}: ${setting.of.join(" | ")}, default ${setting.default}`;
  const kind = setting.type === "list" ? `one for each client, ${boundsText(setting)}` : boundsText(setting);
  const fallback = setting.default === undefined ? (setting.required ? "required" : "optional") : `default ${setting.default}`;
  return `${setting.description}: ${kind}, ${fallback}`;
}

function boundsText({ min, above, max, below, whole }: Bounds): string {
  const parts = [
    whole ? "a whole number" : "a number",
    min === undefined ? "" : `from ${min}`,
    above === undefined ? "" : `above ${above}`,
    max === undefined ? "" : `to ${max}`,
    below === undefined ? "" : `below ${below}`,
  ];
  return parts.filter((part) => part !== "").join(" ");
}
