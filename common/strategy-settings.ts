// What a federation may set for each strategy: checked where it is created, so that a wrong one is not found out by the first round. The
// nodes have the same limits for `/aggregate`; a test holds the two together.

export type SettingRule =
  | {
      readonly type: "number";
      readonly min?: number;
      readonly above?: number;
      readonly max?: number;
      readonly below?: number;
      readonly whole?: true;
    }
  | { readonly type: "choice"; readonly of: readonly string[] };

export type SettingRules = Readonly<Record<string, SettingRule>>;

const rate: SettingRule = { type: "number", above: 0, max: 100 };
const kept: SettingRule = { type: "number", min: 0, below: 1 };
const attackers: SettingRule = { type: "number", min: 0, whole: true };
const adaptive: SettingRules = { lr: rate, beta1: kept, beta2: kept, tau: { type: "number", above: 0, max: 1 } };
/** Updates that an asynchronous round waits for. */
const buffer: SettingRule = { type: "number", min: 1, max: 10_000, whole: true };

export const STRATEGY_SETTINGS: Readonly<Record<string, SettingRules>> = {
  mean: {},
  fedavg: {},
  fedavgm: { momentum: kept, lr: rate },
  // Of the participants' training; the aggregation is a mean.
  fedprox: { mu: { type: "number", min: 0, max: 1000 } },
  fedadam: adaptive,
  fedyogi: adaptive,
  fedadagrad: adaptive,
  fednova: {},
  median: {},
  trimmed_mean: { beta: { type: "number", min: 0, below: 0.5 } },
  krum: { f: attackers },
  multi_krum: { f: attackers, m: { type: "number", min: 1, whole: true } },
  bulyan: { f: attackers },
  geometric_median: {
    iterations: { type: "number", min: 1, max: 1000, whole: true },
    smoothing: { type: "number", above: 0, max: 1 },
    tolerance: { type: "number", min: 0, max: 1 },
  },
  norm_clip: { clip_norm: { type: "number", above: 0 } },
  fedasync: {
    alpha: { type: "number", above: 0, max: 1 },
    decay: { type: "choice", of: ["polynomial", "hinge", "constant"] },
    a: { type: "number", above: 0, max: 1000 },
    b: { type: "number", min: 0, max: 1_000_000 },
    buffer,
  },
  fedbuff: { lr: rate, buffer },
};

/** Settings without which a strategy cannot run. */
const REQUIRED: Readonly<Record<string, readonly string[]>> = { norm_clip: ["clip_norm"] };

/** Strategies of the nodes that need more of a round than a coordinator collects. */
export const NOT_IN_FEDERATIONS: ReadonlyMap<string, string> = new Map([
  ["scaffold", "needs control variates that participants keep from round to round"],
  ["qfedavg", "needs every participant's loss on the parameters it began with"],
  ["fltrust", "needs an update of the server's own"],
]);

/** What is wrong with a strategy's settings, by setting; "name" where it is the strategy itself. */
export function strategyProblems(strategy: Readonly<Record<string, unknown>>): { setting: string; message: string }[] {
  const name = String(strategy["name"]);
  const needs = NOT_IN_FEDERATIONS.get(name);
  if (needs !== undefined) return [{ setting: "name", message: `${name} ${needs}; a federation has none. Call /aggregate of a node` }];
  const rules = Object.hasOwn(STRATEGY_SETTINGS, name) ? STRATEGY_SETTINGS[name] : undefined;
  if (!rules) return [{ setting: "name", message: `must be one of: ${Object.keys(STRATEGY_SETTINGS).join(", ")}` }];
  const given = Object.entries(strategy).filter(([setting]) => setting !== "name");
  const missing = (REQUIRED[name] ?? []).filter((setting) => strategy[setting] === undefined);
  return [
    ...given.flatMap(([setting, value]) => {
      const rule = Object.hasOwn(rules, setting) ? rules[setting] : undefined;
      const message = rule ? problemOf(rule, value) : `is not a setting of ${name}; it has ${Object.keys(rules).join(", ") || "none"}`;
      return message === undefined ? [] : [{ setting, message }];
    }),
    ...missing.map((setting) => ({ setting, message: `is required by ${name}` })),
  ];
}

function problemOf(rule: SettingRule, value: unknown): string | undefined {
  if (rule.type === "choice") {
    return typeof value === "string" && rule.of.includes(value) ? undefined : `must be one of: ${rule.of.join(", ")}`;
  }
  const { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY, whole } = rule;
  const { above = Number.NEGATIVE_INFINITY, below = Number.POSITIVE_INFINITY } = rule;
  const isNumber = typeof value === "number" && Number.isFinite(value) && (!whole || Number.isInteger(value));
  return isNumber && value >= min && value <= max && value > above && value < below ? undefined : `must be ${inWords(rule)}`;
}

function inWords({ min, above, max, below, whole }: Extract<SettingRule, { type: "number" }>): string {
  const parts = [
    whole ? "a whole number" : "a number",
    min === undefined ? "" : `from ${min}`,
    above === undefined ? "" : `above ${above}`,
    max === undefined ? "" : `to ${max}`,
    below === undefined ? "" : `below ${below}`,
  ];
  return parts.filter((part) => part !== "").join(" ");
}
