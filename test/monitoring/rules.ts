import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { DASHBOARDS, RULES } from "../helpers/prometheus.ts";

export interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** The shipped alert rules. */
export function readRules(): Rule[] {
  const { groups } = parse(readFileSync(RULES, "utf8")) as { groups: { rules: Rule[] }[] };
  return groups.flatMap(({ rules }) => rules);
}

export interface Dashboard {
  readonly file: string;
  readonly title: string;
  readonly uid: string;
  readonly panels: readonly { readonly title: string; readonly type: string; readonly targets?: readonly { readonly expr: string }[] }[];
}

/** The shipped dashboards. */
export function readDashboards(): Dashboard[] {
  const files = readdirSync(DASHBOARDS).filter((name) => name.endsWith(".json"));
  return files.map((file) => ({ file, ...(JSON.parse(readFileSync(join(DASHBOARDS, file), "utf8")) as Omit<Dashboard, "file">) }));
}

/** The expressions of a dashboard. */
export const expressionsOf = ({ panels }: Dashboard): string[] => panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));

/** The metrics that an expression names, without what Prometheus adds to a histogram's name. */
function metricsIn(expression: string): string[] {
  const names = expression.match(/\b(tributary|trainer|nodejs|process)_[a-z0-9_]+/g) ?? [];
  return names.map((name) => name.replace(/_(bucket|sum|count)$/, ""));
}

/** The metrics that rules or dashboards name and no scraped process has, each with the place that names it. */
export function missingMetrics(served: ReadonlySet<string>): string[] {
  const places = [
    ...readRules().map(({ alert, expr }) => ({ place: alert, expressions: [expr] })),
    ...readDashboards().map((dashboard) => ({ place: dashboard.file, expressions: expressionsOf(dashboard) })),
  ];
  return places.flatMap(({ place, expressions }) => {
    const missing = new Set(expressions.flatMap(metricsIn).filter((name) => !served.has(name)));
    return [...missing].map((name) => `${place}: ${name}`);
  });
}
