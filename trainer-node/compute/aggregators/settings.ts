import { type Setting, type SettingTable, settingProblem } from "../../../common/strategies/shared/settings.ts";
import { InputProblem } from "../problem.ts";

/** Checked settings of one call. Reading a setting that the table does not have is a bug. */
export interface Settings {
  number(name: string): number;
  optional(name: string): number | undefined;
  list(name: string): readonly number[];
  choice(name: string): string;
}

/**
 * Reads the settings of a request by a table. The error names the first invalid setting. `order` has the index in the request of each
 * client.
 */
export function readSettings(table: SettingTable, given: Readonly<Record<string, unknown>>, order: readonly number[]): Settings {
  const unknown = Object.keys(given).find((name) => name !== "name" && !Object.hasOwn(table, name));
  if (unknown !== undefined) {
    refuse(unknown.slice(0, 100), `is not a setting of this strategy; it has ${Object.keys(table).join(", ") || "none"}`);
  }
  const values = new Map<string, unknown>();
  for (const [name, setting] of Object.entries(table)) values.set(name, readSetting(name, setting, given[name] ?? undefined, order));
  const value = (name: string) => values.get(name);
  return {
    number: (name) => value(name) as number,
    optional: (name) => value(name) as number | undefined,
    list: (name) => value(name) as readonly number[],
    choice: (name) => value(name) as string,
  };
}

function readSetting(name: string, setting: Setting, given: unknown, order: readonly number[]): unknown {
  if (setting.type === "list") return readList(name, setting, given, order);
  const value = given ?? setting.default;
  return value === undefined && !("required" in setting) ? undefined : checked(name, setting, value);
}

function readList(name: string, setting: Extract<Setting, { type: "list" }>, given: unknown, order: readonly number[]): unknown[] {
  if (given === undefined && !setting.required) return order.map(() => setting.default);
  if (!Array.isArray(given) || given.length < order.length)
    refuse(name, `must be a list with one number per client: ${setting.description}`);
  return order.map((client) => checked(`${name}[${client}]`, setting, given[client]));
}

function checked(name: string, setting: Setting, value: unknown): unknown {
  const problem = settingProblem(setting, value);
  if (problem !== undefined) refuse(name, typeof value === "number" ? `${problem}, not ${value}` : problem);
  return value;
}

function refuse(name: string, what: string): never {
  throw new InputProblem("VALIDATION_ERROR", `strategy.${name} ${what}`, { setting: name });
}
