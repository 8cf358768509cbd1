import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAuthority } from "../../cli/certs/issue.ts";
import { HARDENING_FLAGS, SERVICE_NODE_FLAGS } from "../../common/node-flags.ts";
import { freePort, type ServiceProcess, startProcess } from "../helpers/processes.ts";

/** The roles, by the names of their jobs in deploy/prometheus/prometheus.yml. */
const ROLES = {
  "tributary-control-plane": { entry: "control-plane/main.ts", nodeFlags: SERVICE_NODE_FLAGS },
  "tributary-edge": { entry: "gateway-edge/main.ts", nodeFlags: SERVICE_NODE_FLAGS },
  "tributary-trainer": { entry: "trainer-node/main.ts", nodeFlags: HARDENING_FLAGS },
  "tributary-coordinator": { entry: "trainer-node/coordinator/main.ts", nodeFlags: HARDENING_FLAGS },
};

export type Job = keyof typeof ROLES;
export const JOBS = Object.keys(ROLES) as Job[];
export const MASTER_KEY = "sk-master-key-of-a-watched-platform";

/** One process of every role, each with its metrics, and with everything that has metrics: backups, and a certificate at the trainer node. */
export interface WatchedPlatform {
  readonly url: string;
  readonly folder: string;
  /** `host:port` of the metrics by job. */
  readonly targets: Readonly<Record<Job, readonly string[]>>;
  kill(job: Job): Promise<void>;
  start(job: Job): Promise<void>;
  stop(): Promise<void>;
}

export async function startWatchedPlatform(): Promise<WatchedPlatform> {
  const folder = mkdtempSync(join(tmpdir(), "tributary-watched-"));
  const [port, controlPort, trainerPort, coordinatorPort] = [await freePort(), await freePort(), await freePort(), await freePort()];
  const metricsPorts = new Map<Job, number>();
  for (const job of JOBS) metricsPorts.set(job, await freePort());
  const env = {
    DATA_DIR: join(folder, "data"),
    BACKUP_DIR: join(folder, "backups"),
    PORT: String(port),
    CONTROL_PORT: String(controlPort),
    CONTROL_ADDRESS: `127.0.0.1:${controlPort}`,
    TRAINER_PORT: String(trainerPort),
    COORDINATOR_PORT: String(coordinatorPort),
    BUILT_IN_MODELS: "false",
    LOG_LEVEL: "warn",
    MASTER_KEY,
  };
  const certificate = await writeCertificate(folder);
  const running = new Map<Job, ServiceProcess>();
  const start = async (job: Job) => {
    const more = job === "tributary-trainer" ? certificate : {};
    const child = startProcess({ ...ROLES[job], name: job, env: { ...env, ...more, METRICS_PORT: String(metricsPorts.get(job)) } });
    running.set(job, child);
    await child.ready;
  };
  const kill = async (job: Job) => void (await running.get(job)?.kill9());
  const stop = async () => {
    await Promise.all([...running.values()].map((child) => child.kill9()));
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    mkdirSync(env.DATA_DIR);
    for (const job of JOBS) await start(job);
  } catch (error) {
    await stop();
    throw error;
  }
  const targets: Partial<Record<Job, string[]>> = Object.fromEntries(
    [...metricsPorts].map(([job, metricsPort]) => [job, [`127.0.0.1:${metricsPort}`]]),
  );
  return { url: `http://127.0.0.1:${port}`, folder, targets: targets as Record<Job, string[]>, kill, start, stop };
}

async function writeCertificate(folder: string): Promise<Record<string, string>> {
  const authority = await createAuthority(Date.now());
  const { cert, key } = await authority.issue({ role: "trainer", name: "trainer-1" }, { hosts: ["localhost"], days: 90 });
  const [TLS_CERT, TLS_KEY] = [join(folder, "cert.pem"), join(folder, "key.pem")];
  writeFileSync(TLS_CERT, cert);
  writeFileSync(TLS_KEY, key, { mode: 0o600 });
  return { TLS_CERT, TLS_KEY };
}
