import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { KUBERNETES, type ShipTools } from "./tools.ts";

/** Variants of the chart that together render every template. */
const CHART_VARIANTS: readonly (readonly string[])[] = [
  [],
  ["--set", "edge.autoscaling.enabled=false", "--set", "coordinator.replicas=0", "--set", "trainer.replicas=0"],
  ["--set", "serviceMonitor.enabled=true", "--set", "networkPolicy.enabled=true", "--set", "coordinator.replicas=3"],
  ["--set-string", "config=model_list: []", "--set", "controlPlane.env.CREDIT_POLICY=strict", "--set", "trustProxy={10.0.0.0/8}"],
];
const REQUIRED = ["--kube-version", KUBERNETES, "--set", "publicUrl=https://gateway.example.org"];
/** From 0 (hardened) to 10, by systemd. */
const EXPOSURE_MAX = 2;

/** Checks by name; each throws with what is wrong, and returns what it looked at. */
export function fileChecks(root: string, tools: ShipTools): Readonly<Record<string, () => string>> {
  const deploy = join(root, "deploy");
  return {
    "Dockerfile (hadolint)": () => run(tools.python("hadolint"), [join(deploy, "Dockerfile")]) || "no finding",
    "compose files (compose-spec schema)": () => {
      const files = readdirSync(deploy).filter((name) => /^compose.*\.yaml$/.test(name));
      run(tools.python("check-jsonschema"), ["--builtin-schema", "vendor.compose-spec", ...files.map((name) => join(deploy, name))]);
      return files.join(", ");
    },
    "systemd units (systemd-analyze)": () => checkUnits(join(deploy, "systemd")),
    "Helm chart (helm lint)": () => {
      run(tools.helm(), ["lint", "--strict", ...REQUIRED, join(deploy, "helm/tributary")]);
      return "no finding";
    },
    "Kubernetes objects (helm template | kubeconform, 1.31)": () => checkChart(tools, join(deploy, "helm/tributary")),
    "values that are wrong are refused": () => refuseWrongValues(tools, join(deploy, "helm/tributary")),
  };
}

function checkChart(tools: ShipTools, chart: string): string {
  const schemas = tools.kubernetesSchemas();
  const counts = CHART_VARIANTS.map((variant) =>
    withFolder((folder) => {
      const file = join(folder, "objects.yaml");
      writeFileSync(file, run(tools.helm(), ["template", "release", chart, ...REQUIRED, ...variant]));
      // The one kind that is not of Kubernetes itself, but of the Prometheus operator.
      const options = ["-strict", "-skip", "ServiceMonitor", "-kubernetes-version", KUBERNETES, "-schema-location", schemas];
      const { summary } = JSON.parse(run(tools.kubeconform(), [...options, "-summary", "-output", "json", file])) as {
        summary: { valid: number; invalid: number; errors: number };
      };
      if (summary.valid === 0) throw new Error("the chart renders no object");
      return summary.valid;
    }),
  );
  return `${counts.join(", ")} objects`;
}

function refuseWrongValues(tools: ShipTools, chart: string): string {
  const wrong = ["publicUrl=gateway", "edge.replicas=0", "edge.drainMs=soon", "controlPlane.secrets={MASTER_KEY}", "nothing=1"];
  for (const value of wrong) {
    const refused = !succeeds(() => run(tools.helm(), ["template", "release", chart, ...REQUIRED, "--set", value]));
    if (!refused) throw new Error(`--set ${value} is accepted`);
  }
  return `${wrong.length} values`;
}

/** The program is not installed on the machine that checks, so a copy of the unit names one that is. */
function checkUnits(folder: string): string {
  const units = readdirSync(folder).filter((name) => name.endsWith(".service"));
  return withFolder((copies) => {
    for (const unit of units) {
      writeFileSync(join(copies, unit), readFileSync(join(folder, unit), "utf8").replace("/usr/local/bin/tributary", process.execPath));
    }
    const paths = units.map((unit) => join(copies, unit));
    run("systemd-analyze", ["verify", "--man=no", ...paths]);
    const levels = paths.map((path) => exposureOf(run("systemd-analyze", ["security", "--offline=true", path])));
    if (levels.some((level) => level > EXPOSURE_MAX)) throw new Error(`exposure levels ${levels.join(", ")}; at most ${EXPOSURE_MAX}`);
    return `${units.length} units, exposure ${levels.join(", ")} of 10`;
  });
}

const exposureOf = (report: string): number => Number(/exposure level for [^:]+: ([\d.]+)/.exec(report)?.[1] ?? Number.NaN);

function withFolder<T>(work: (folder: string) => T): T {
  const folder = mkdtempSync(join(tmpdir(), "tributary-ship-"));
  try {
    return work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function succeeds(work: () => unknown): boolean {
  try {
    work();
    return true;
  } catch {
    return false;
  }
}

function run(command: string, options: readonly string[]): string {
  try {
    return execFileSync(command, options, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"], maxBuffer: 64 * 1024 * 1024 });
  } catch (cause) {
    const { stdout = "", stderr = "", code } = cause as { stdout?: string; stderr?: string; code?: string };
    if (code === "ENOENT") throw new Error(`${command} is not on this machine; install it`);
    throw new Error(`${command}: ${stderr}${stdout}`.slice(0, 4000));
  }
}
