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

/** A process that is started and watched besides the first one of its role. */
interface Spare {
  readonly name: string;
  readonly job: Job;
  readonly env: Readonly<Record<string, string>>;
  readonly launcher?: readonly string[] | undefined;
}

interface WatchedOptions {
  /** Days until the certificate of the trainer node ends. */
  readonly certificateDays?: number;
  readonly env?: Readonly<Record<string, string>>;
  /** Prefix of the control plane's command. */
  readonly controlLauncher?: (folders: { backups: string }) => readonly string[];
  readonly spares?: (folder: string) => readonly Spare[];
}

/** One process of every role, each with its metrics, and with everything that has metrics: backups, and a certificate at the trainer node. */
export interface WatchedPlatform {
  readonly url: string;
  readonly folder: string;
  readonly controlAddress: string;
  /** `host:port` of the metrics by job. */
  readonly targets: Readonly<Record<Job, readonly string[]>>;
  /** The first process of a job has its name. */
  pid(name: string): number;
  kill(name: string): Promise<void>;
  start(name: string): Promise<void>;
  stop(): Promise<void>;
}

export async function startWatchedPlatform(options: WatchedOptions = {}): Promise<WatchedPlatform> {
  const folder = mkdtempSync(join(tmpdir(), "tributary-watched-"));
  const [port, controlPort, trainerPort, coordinatorPort] = [await freePort(), await freePort(), await freePort(), await freePort()];
  const env = {
    DATA_DIR: join(folder, "data"),
    PORT: String(port),
    CONTROL_PORT: String(controlPort),
    CONTROL_ADDRESS: `127.0.0.1:${controlPort}`,
    TRAINER_PORT: String(trainerPort),
    COORDINATOR_PORT: String(coordinatorPort),
    BUILT_IN_MODELS: "false",
    LOG_LEVEL: "warn",
    MASTER_KEY,
    ...options.env,
  };
  const certificate = await writeCertificate(folder, options.certificateDays ?? 90);
  const backups = join(folder, "backups");
  const own: Partial<Record<Job, Pick<Spare, "env" | "launcher">>> = {
    "tributary-control-plane": { env: { BACKUP_DIR: backups }, launcher: options.controlLauncher?.({ backups }) },
    "tributary-trainer": { env: certificate },
  };
  const first = JOBS.map((job): Spare => ({ name: job, job, env: {}, ...own[job] }));
  const watched = new Map<string, Spare & { metricsPort: number }>();
  for (const each of [...first, ...(options.spares?.(folder) ?? [])]) watched.set(each.name, { ...each, metricsPort: await freePort() });
  const running = new Map<string, ServiceProcess>();
  const start = async (name: string) => {
    const { job, env: more, launcher, metricsPort } = known(watched.get(name), name);
    const child = startProcess({ ...ROLES[job], name, launcher, env: { ...env, ...more, METRICS_PORT: String(metricsPort) } });
    running.set(name, child);
    await child.ready;
  };
  const kill = async (name: string) => void (await known(running.get(name), name).kill9());
  const stop = async () => {
    await Promise.all([...running.values()].map((child) => child.kill9()));
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    mkdirSync(env.DATA_DIR);
    for (const name of watched.keys()) await start(name);
  } catch (error) {
    await stop();
    throw error;
  }
  const targetsOf = (job: Job) => [...watched.values()].filter((each) => each.job === job).map((each) => `127.0.0.1:${each.metricsPort}`);
  const targets = Object.fromEntries(JOBS.map((job) => [job, targetsOf(job)])) as Record<Job, string[]>;
  const pid = (name: string) => known(running.get(name), name).pid;
  return { url: `http://127.0.0.1:${port}`, folder, controlAddress: env.CONTROL_ADDRESS, targets, pid, kill, start, stop };
}

function known<Found>(found: Found | undefined, name: string): Found {
  if (found === undefined) throw new Error(`there is no process ${name}`);
  return found;
}

async function writeCertificate(folder: string, days: number): Promise<Record<string, string>> {
  const authority = await createAuthority(Date.now());
  const { cert, key } = await authority.issue({ role: "trainer", name: "trainer-1" }, { hosts: ["localhost"], days });
  const [TLS_CERT, TLS_KEY] = [join(folder, "cert.pem"), join(folder, "key.pem")];
  writeFileSync(TLS_CERT, cert);
  writeFileSync(TLS_KEY, key, { mode: 0o600 });
  return { TLS_CERT, TLS_KEY };
}
