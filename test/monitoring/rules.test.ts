import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { CONFIGURATION, promtool, RULES } from "../helpers/prometheus.ts";
import { ALERT_CASES } from "./alert-cases.ts";
import { promtoolOn, testRules } from "./rule-tests.ts";
import { expressionsOf, readDashboards, readRules } from "./rules.ts";

const rules = readRules();
const root = resolve(import.meta.dirname, "../..");

test("promtool finds the alert rules and the configuration beside them valid", async () => {
  for (const args of [
    ["check", "rules", "--lint=all", "--lint-fatal", RULES],
    ["check", "config", CONFIGURATION],
  ]) {
    const { code, output } = await promtool(args);
    expect({ code, output }).toMatchObject({ code: 0, output: expect.stringContaining("SUCCESS") });
  }
});

test("every alert fires when it should, with its text, and not before", async () => {
  expect(rules.map(({ alert }) => alert).filter((name) => !ALERT_CASES.some(({ alert, firing }) => alert === name && firing))).toEqual([]);
  expect(await testRules(ALERT_CASES)).toMatchObject({ code: 0, output: expect.stringContaining("SUCCESS") });
});

test("every expression of a dashboard is valid", async () => {
  const expressions = readDashboards().flatMap(expressionsOf);
  expect(expressions.length).toBeGreaterThan(50);
  const records = expressions.map((expr, index) => ({ record: `expression_${index}`, expr: expr.replaceAll("$__rate_interval", "5m") }));
  const groups = [{ name: "dashboards", rules: records }];
  expect(await promtoolOn(["check", "rules"], { groups })).toMatchObject({ code: 0, output: expect.stringContaining("SUCCESS") });
});

test("every alert has a severity and a page that says what it means, what to look at and what to do", () => {
  for (const { alert, labels, annotations } of rules) {
    expect([alert, labels["severity"]]).toEqual([alert, expect.stringMatching(/^(critical|warning)$/)]);
    const page = resolve(root, annotations["runbook_url"] ?? "");
    expect([page, existsSync(page)]).toEqual([page, true]);
    const text = readFileSync(page, "utf8");
    for (const part of [`# ${alert}\n`, "## What it means\n", "## What to look at\n", "## What to do\n"]) expect(text).toContain(part);
    expect([alert, /```sh\n[^`]+```/.test(text)]).toEqual([alert, true]);
  }
  expect(new Set(rules.map(({ annotations }) => annotations["runbook_url"])).size).toBe(rules.length);
});
