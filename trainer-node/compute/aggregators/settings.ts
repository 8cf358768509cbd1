import { InputProblem } from "../problem.ts";

interface Bounds {
  readonly min?: number;
  readonly max?: number;
  readonly above?: number;
  readonly below?: number;
  readonly whole?: boolean;
}

/** What a setting may be. A `list` has one number for each client, in the order of the request. */
export type Setting =
  | (Bounds & { readonly type: "number"; readonly default?: number; readonly optional?: boolean; readonly about: string })
  | (Bounds & { readonly type: "list"; readonly default?: number; readonly about: string })
  | { readonly type: "choice"; readonly of: readonly string[]; readonly default: string; readonly about: string };

export type SettingTable = Readonly<Record<string, Setting>>;

/** Checked settings of one call; reading one the table does not have is our own mistake. */
export interface Settings {
  number(name: string): number;
  optional(name: string): number | undefined;
  list(name: string): readonly number[];
  choice(name: string): string;
}

/** Reads what a request gave for a table; the first setting that is wrong is named. `order` says which client of the request each place is. */
export function readSettings(table: SettingTable, given: Readonly<Record<string, unknown>>, order: readonly number[]): Settings {
  const unknown = Object.keys(given).find((name) => name !== "name" && !Object.hasOwn(table, name));
  if (unknown !== undefined) {
    refuse(unknown.slice(0, 100), `is not a setting of this strategy; it has ${Object.keys(table).join(", ") || "none"}`);
  }
  const values = new Map<string, number | string | readonly number[] | undefined>();
  for (const [name, setting] of Object.entries(table)) values.set(name, readSetting(name, setting, given[name] ?? undefined, order));
  const value = (name: string) => values.get(name);
  return {
    number: (name) => value(name) as number,
    optional: (name) => value(name) as number | undefined,
    list: (name) => value(name) as readonly number[],
    choice: (name) => value(name) as string,
  };
}

function readSetting(
  name: string,
  setting: Setting,
  given: unknown,
  order: readonly number[],
): number | string | readonly number[] | undefined {
  if (setting.type === "list") return readList(name, setting, given, order);
  if (setting.type === "number") {
    if (given === undefined && setting.optional) return undefined;
    return checkNumber(name, given ?? setting.default, setting);
  }
  if (given === undefined) return setting.default;
  if (typeof given !== "string" || !setting.of.includes(given)) refuse(name, `must be one of: ${setting.of.join(", ")}`);
  return given;
}

function readList(name: string, setting: Extract<Setting, { type: "list" }>, given: unknown, order: readonly number[]): readonly number[] {
  const { default: fallback } = setting;
  if (given === undefined && fallback !== undefined) return order.map(() => fallback);
  if (!Array.isArray(given) || given.length < order.length)
    refuse(name, `must be a list with one number for each client: ${setting.about}`);
  return order.map((client) => checkNumber(`${name}[${client}]`, given[client], setting));
}

function checkNumber(name: string, value: unknown, bounds: Bounds & { about: string }): number {
  if (typeof value !== "number" || !Number.isFinite(value)) refuse(name, `must be a number: ${bounds.about}`);
  const {
    min = Number.NEGATIVE_INFINITY,
    max = Number.POSITIVE_INFINITY,
    above = Number.NEGATIVE_INFINITY,
    below = Number.POSITIVE_INFINITY,
  } = bounds;
  if (value < min || value > max || value <= above || value >= below || (bounds.whole && !Number.isInteger(value))) {
    refuse(name, `must be ${describeBounds(bounds)}, not ${value}`);
  }
  return value;
}

/** In words, for errors and for /v1/info. */
export function describeSetting(setting: Setting): string {
  if (setting.type === "choice") return `${setting.about}: ${setting.of.join(" | ")}, default ${setting.default}`;
  const kind = setting.type === "list" ? `one for each client, ${describeBounds(setting)}` : describeBounds(setting);
  const fallback =
    setting.default === undefined
      ? setting.type === "number" && setting.optional
        ? "optional"
        : "required"
      : `default ${setting.default}`;
  return `${setting.about}: ${kind}, ${fallback}`;
}

function describeBounds({ min, max, above, below, whole }: Bounds): string {
  const parts = [
    whole ? "a whole number" : "a number",
    min === undefined ? "" : `from ${min}`,
    above === undefined ? "" : `above ${above}`,
    max === undefined ? "" : `to ${max}`,
    below === undefined ? "" : `below ${below}`,
  ];
  return parts.filter((part) => part !== "").join(" ");
}

function refuse(name: string, what: string): never {
  throw new InputProblem("VALIDATION_ERROR", `strategy.${name} ${what}`, { setting: name });
}
