import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parse, stringify } from "yaml";
import { findProgram } from "./debian-programs.ts";
import { freePort } from "./processes.ts";

const root = resolve(import.meta.dirname, "../..");
const FOLDER = resolve(root, ".cache/prometheus");
const START_MAX_MS = 30_000;

/** Where the rules, the example of a configuration and the dashboards are. */
export const RULES = resolve(root, "deploy/prometheus/alerts.yml");
export const CONFIGURATION = resolve(root, "deploy/prometheus/prometheus.yml");
export const DASHBOARDS = resolve(root, "deploy/grafana");

const programOf = (name: "prometheus" | "promtool") => findProgram({ name, packages: ["prometheus"], folder: FOLDER });

/** Runs promtool with some input. Fails if it cannot be had, because metrics without a check prove nothing. */
export async function promtool(args: readonly string[], input = ""): Promise<{ code: number; output: string }> {
  const { path, env } = await programOf("promtool");
  return new Promise((settle) => {
    const child = execFile(path, [...args], { env: { ...process.env, ...env }, timeout: 60_000 }, (error, stdout, stderr) =>
      settle({ code: error ? Number(error.code ?? 1) : 0, output: `${stdout}${stderr}` }),
    );
    child.stdin?.end(input);
  });
}

/** An alert as Prometheus' API shows it. */
export interface ActiveAlert {
  readonly labels: Readonly<Record<string, string>>;
  readonly state: "pending" | "firing";
}

export interface Prometheus {
  alerts(): Promise<readonly ActiveAlert[]>;
  /** Whether every target has been scraped. */
  isEverythingUp(): Promise<boolean>;
  stop(): Promise<void>;
}

/** A real Prometheus with the shipped configuration and rules, or rules of another file; only targets and intervals are others. */
export async function startPrometheus(
  folder: string,
  targets: Readonly<Record<string, readonly string[]>>,
  rules = RULES,
): Promise<Prometheus> {
  const { path, env } = await programOf("prometheus");
  const port = await freePort();
  writeFileSync(join(folder, "prometheus.yml"), configurationFor(targets, rules));
  const options = [
    `--config.file=${join(folder, "prometheus.yml")}`,
    `--storage.tsdb.path=${join(folder, "series")}`,
    `--web.listen-address=127.0.0.1:${port}`,
  ];
  const child = spawn(path, options, { stdio: ["ignore", "ignore", "pipe"], env: { ...process.env, ...env } });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  const api = async (name: string): Promise<unknown> => {
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1/${name}`);
    return ((await answer.json()) as { data: unknown }).data;
  };
  const until = Date.now() + START_MAX_MS;
  while (
    !(await fetch(`http://127.0.0.1:${port}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    ))
  ) {
    if (child.exitCode !== null || Date.now() > until) throw new Error(`prometheus does not start: ${said.slice(-2000)}`);
    await sleep(50);
  }
  return {
    alerts: async () => ((await api("alerts")) as { alerts: ActiveAlert[] }).alerts,
    isEverythingUp: async () => {
      const { activeTargets } = (await api("targets")) as { activeTargets: { health: string }[] };
      return activeTargets.length > 0 && activeTargets.every(({ health }) => health === "up");
    },
    stop: async () => {
      const gone = once(child, "exit");
      child.kill("SIGKILL");
      await gone;
    },
  };
}

interface Configuration {
  global: Record<string, string>;
  rule_files: string[];
  scrape_configs: { job_name: string; static_configs: { targets: readonly string[] }[] }[];
}

function configurationFor(targets: Readonly<Record<string, readonly string[]>>, rules: string): string {
  const shipped = parse(readFileSync(CONFIGURATION, "utf8")) as Configuration;
  return stringify({
    ...shipped,
    global: { scrape_interval: "1s", evaluation_interval: "1s" },
    rule_files: [rules],
    scrape_configs: shipped.scrape_configs.map((job) => ({ ...job, static_configs: [{ targets: targets[job.job_name] ?? [] }] })),
  });
}
