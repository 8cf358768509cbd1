import { STRATEGIES } from "../gen/strategies.ts";
import { ownDeclaration, ownStrategy } from "./own-strategy.ts";
import { settingProblem, settingsOf } from "./settings.ts";
import type { GivenStrategy, Strategy } from "./strategy.ts";

const byName = new Map(STRATEGIES.map((strategy) => [strategy.name, strategy]));

export function findStrategy(name: string): Strategy | undefined {
  return byName.get(name);
}

/** The declaration of a strategy whose name was checked: a name that is not built in is an own strategy's. */
export function strategyNamed(name: string): Strategy {
  return findStrategy(name) ?? ownDeclaration(name);
}

/** Names of the strategies that need the mean of the updates alone. */
export const SUM_STRATEGIES: readonly string[] = STRATEGIES.filter(({ sees }) => sees === "sum").map(({ name }) => name);

/** A setting of a federation's strategy, or its default. */
export function settingOf(given: GivenStrategy, setting: string): unknown {
  return given[setting] ?? strategyNamed(given.name).settings[setting]?.default;
}

/** What is wrong with a federation's strategy, by setting; "name" where it is the strategy itself. */
export function strategyProblems(given: GivenStrategy): { setting: string; message: string }[] {
  const { name, ...values } = given;
  const strategy = findStrategy(name);
  if (!strategy && values["own"] !== undefined) {
    const { success } = ownStrategy.safeParse(values["own"]);
    return success ? [] : [{ setting: "own", message: "must be a language and a source" }];
  }
  if (!strategy) return [{ setting: "name", message: `must be one of: ${STRATEGIES.map((one) => one.name).join(", ")}` }];
  const table = settingsOf(strategy.settings, "federation");
  const problems = Object.entries(values).map(([setting, value]) => {
    const known = Object.hasOwn(table, setting) ? table[setting] : undefined;
    const message = known ? settingProblem(known, value) : `is not a setting of ${name}; it has ${Object.keys(table).join(", ") || "none"}`;
    return { setting, message };
  });
  const missing = Object.entries(table).flatMap(([setting, rule]) =>
    "required" in rule && values[setting] === undefined ? [{ setting, message: `is required by ${name}` }] : [],
  );
  return [...problems.filter((problem): problem is { setting: string; message: string } => problem.message !== undefined), ...missing];
}
