import { readFileSync, writeFileSync } from "node:fs";
import { parse, stringify } from "yaml";
import { RULES } from "../../test/helpers/prometheus.ts";
import type { Rule } from "../../test/monitoring/rules.ts";

/** A condition that has to hold for longer is held for this time only; the shipped time is proved by promtool. */
const CUT = "15s";
const LONGEST_SECONDS = 60;
const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

/** Writes the shipped rules for a run of minutes. Returns the shipped `for` of the alerts whose time was cut. */
export function writeLiveRules(path: string): ReadonlyMap<string, string> {
  const cut = new Map<string, string>();
  const file = parse(readFileSync(RULES, "utf8")) as { groups: { rules: Rule[] }[] };
  const groups = file.groups.map((group) => ({
    ...group,
    rules: group.rules.map((rule) => {
      if (rule.for === undefined || secondsOf(rule.for) <= LONGEST_SECONDS) return rule;
      cut.set(rule.alert, rule.for);
      return { ...rule, for: CUT };
    }),
  }));
  writeFileSync(path, stringify({ groups }));
  return cut;
}

function secondsOf(time: string): number {
  const [, count, unit = ""] = /^(\d+)([smhd])$/.exec(time) ?? [];
  const seconds = UNIT_SECONDS[unit];
  if (seconds === undefined) throw new Error(`the time ${time} of a rule cannot be read`);
  return Number(count) * seconds;
}
