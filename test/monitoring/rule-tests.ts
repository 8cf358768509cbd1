import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promtool, RULES } from "../helpers/prometheus.ts";
import type { AlertCase } from "./alert-cases.ts";
import { readRules } from "./rules.ts";

/** Runs promtool on a file with this content. JSON is YAML, too. */
export async function promtoolOn(args: readonly string[], content: object): Promise<{ code: number; output: string }> {
  const folder = mkdtempSync(join(tmpdir(), "tributary-rules-"));
  try {
    writeFileSync(join(folder, "rules.json"), JSON.stringify(content));
    return await promtool([...args, join(folder, "rules.json")]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Runs cases on the shipped rules, as they are. */
export function testRules(cases: readonly AlertCase[]): Promise<{ code: number; output: string }> {
  return promtoolOn(["test", "rules"], { rule_files: [RULES], evaluation_interval: "15s", tests: cases.map(testOf) });
}

function testOf({ alert, interval, series, quietAt, firing }: AlertCase) {
  const rule = readRules().find((each) => each.alert === alert);
  const expected = firing && {
    exp_labels: { ...rule?.labels, ...firing.labels },
    exp_annotations: { summary: firing.summary, runbook_url: rule?.annotations["runbook_url"] },
  };
  return {
    name: alert,
    interval,
    input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
    alert_rule_test: [
      ...(quietAt === undefined ? [] : [{ eval_time: quietAt, alertname: alert, exp_alerts: [] }]),
      ...(firing ? [{ eval_time: firing.at, alertname: alert, exp_alerts: [expected] }] : []),
    ],
  };
}
