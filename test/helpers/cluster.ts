import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gwWith } from "../../cli/io-fixture.ts";
import { HARDENING_FLAGS, SERVICE_NODE_FLAGS, TRAINER_NODE_FLAGS } from "../../common/node-flags.ts";
import { type ReplicaSet, startReplicaSet } from "./mongod.ts";
import type { PlaneNetworks } from "./plane-networks.ts";
import { freePort, type ServiceProcess, startProcess } from "./processes.ts";
import { ADMIN_PASSWORD, COORDINATOR_TOKEN, MASTER_KEY, TRAINER_TOKEN } from "./system.ts";

/** The root secret of all processes of a cluster. */
export const CLUSTER_SECRET_KEY = "one-secret-key-for-all-machines-of-this-cluster";

export type ClusterRole = "control plane" | "edge" | "trainer" | "coordinator";

/** One process of a cluster, with an address and a data folder of its own, as on a machine of its own. */
export interface Member {
  readonly role: ClusterRole;
  readonly index: number;
  /** Where others reach it, without the scheme. */
  readonly address: string;
  /** Replaced when it starts again. */
  process: ServiceProcess;
  /** Starts it again at the same address with the same folder, also from the code of another release. */
  start(code?: { root: string | undefined }): Promise<void>;
  /** Removes its folder, as when its host is lost. The process must have ended. */
  loseDisk(): void;
}

export interface ClusterOptions {
  readonly planes: number;
  readonly edges: number;
  readonly trainers?: number;
  readonly coordinators?: number;
  readonly mongoNodes?: number;
  readonly electionTimeoutMs?: number;
  /** Content of the gateway's configuration file. */
  readonly config?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Where each control plane has a network of its own. */
  readonly networks?: PlaneNetworks | undefined;
  /** Folder of the code that the members run first; this repository if absent. */
  readonly root?: string | undefined;
}

export interface Cluster {
  readonly store: ReplicaSet;
  readonly members: readonly Member[];
  membersOf(role: ClusterRole): readonly Member[];
  /** The base URL of each edge. */
  readonly urls: readonly string[];
  stop(): Promise<void>;
}

/** Loopback addresses that stand for hosts: one network per role. */
const NETWORKS: Readonly<Record<ClusterRole, number>> = { "control plane": 2, edge: 3, trainer: 4, coordinator: 5 };
const hostOf = (role: ClusterRole, index: number) => `127.0.${NETWORKS[role]}.${index + 1}`;

/** All roles as processes on loopback addresses, connected by mutual TLS, over a MongoDB replica set. */
export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const folder = mkdtempSync(join(tmpdir(), "tributary-cluster-"));
  const started: Member[] = [];
  const remove = () => rmSync(folder, { recursive: true, force: true });
  const store = await startReplicaSet({
    nodes: options.mongoNodes ?? 3,
    folder: join(folder, "mongo"),
    electionTimeoutMs: options.electionTimeoutMs ?? 10_000,
    host: options.networks?.storeHost,
  });
  const stop = async () => {
    for (const role of ["edge", "coordinator", "trainer", "control plane"] as const) {
      await Promise.all(started.filter((member) => member.role === role).map(({ process }) => process.stop()));
    }
    await store.stop();
    remove();
  };
  try {
    for (const plan of await planOf(options, { folder, uri: store.uri })) {
      const members = plan.map((planned) => memberOf(planned, options));
      started.push(...members);
      await Promise.all(members.map(({ process }) => process.ready));
    }
  } catch (error) {
    await stop();
    throw error;
  }
  const membersOf = (role: ClusterRole) => started.filter((member) => member.role === role);
  return { store, members: started, membersOf, urls: membersOf("edge").map(({ address }) => `http://${address}`), stop };
}

interface Planned {
  readonly role: ClusterRole;
  readonly index: number;
  readonly address: string;
  readonly entry: string;
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
}

/** What to start, in waves: control planes, then trainers and coordinators, then edges. */
async function planOf(options: ClusterOptions, { folder, uri }: { folder: string; uri: string }): Promise<Planned[][]> {
  const hosts = (role: ClusterRole, count: number) => Array.from({ length: count }, (_, index) => hostOf(role, index));
  const planes = hosts("control plane", options.planes).map((host, index) => options.networks?.hostOf(index) ?? host);
  const edges = hosts("edge", options.edges);
  const trainers = hosts("trainer", options.trainers ?? 0);
  const coordinators = hosts("coordinator", options.coordinators ?? 0);
  const certs = await makeCerts(folder, { hosts: [...planes, ...trainers, ...coordinators], edges: edges.length });
  const [controlPort, edgePort, trainerPort, coordinatorPort] = [await freePort(), await freePort(), await freePort(), await freePort()];
  writeFileSync(join(folder, "config.yaml"), options.config ?? "");
  const tls = (name: string) => ({
    TLS_CERT: join(certs, name, "cert.pem"),
    TLS_KEY: join(certs, name, "key.pem"),
    TLS_CA: join(certs, name, "ca.pem"),
  });
  const control = { CONTROL_ADDRESS: planes.map((host) => `${host}:${controlPort}`).join(",") };
  const coordinator = coordinators.length > 0 ? { COORDINATOR_URL: `https://${coordinators[0]}:${coordinatorPort}` } : {};
  const shared = { ...options.env, SECRET_KEY: CLUSTER_SECRET_KEY, COORDINATOR_TOKEN, TRAINER_TOKEN };
  const member = (role: ClusterRole, index: number, fields: Pick<Planned, "entry" | "env"> & { port: number }): Planned => {
    const data = join(folder, `${role.replace(" ", "-")}-${index}`);
    return {
      role,
      index,
      address: `${role === "control plane" ? planes[index] : hostOf(role, index)}:${fields.port}`,
      entry: fields.entry,
      folder: data,
      env: { DATA_DIR: data, ...shared, ...fields.env },
    };
  };
  return [
    planes.map((host, index) =>
      member("control plane", index, {
        entry: "control-plane/main.ts",
        port: controlPort,
        env: {
          ...tls("control-plane"),
          CONTROL_HOST: host,
          CONTROL_PORT: String(controlPort),
          MONGODB_URI: uri,
          CONFIG: join(folder, "config.yaml"),
          ADMIN_PASSWORD,
          MASTER_KEY,
          BUILT_IN_MODELS: "false",
        },
      }),
    ),
    [
      ...trainers.map((host, index) =>
        member("trainer", index, {
          entry: "trainer-node/main.ts",
          port: trainerPort,
          env: { ...tls("trainer"), TRAINER_HOST: host, TRAINER_PORT: String(trainerPort), TRAINER_THREADS: "1" },
        }),
      ),
      ...coordinators.map((host, index) =>
        member("coordinator", index, {
          entry: "trainer-node/coordinator/main.ts",
          port: coordinatorPort,
          env: {
            ...tls("coordinator"),
            ...control,
            COORDINATOR_HOST: host,
            COORDINATOR_PORT: String(coordinatorPort),
            COORDINATOR_PEERS: coordinators
              .filter((peer) => peer !== host)
              .map((peer) => `https://${peer}:${coordinatorPort}`)
              .join(","),
          },
        }),
      ),
    ],
    edges.map((host, index) =>
      member("edge", index, {
        entry: "gateway-edge/main.ts",
        port: edgePort,
        env: {
          ...tls(`edge-${index}`),
          ...control,
          ...coordinator,
          HOST: host,
          PORT: String(edgePort),
          DRAIN_MS: options.env?.["DRAIN_MS"] ?? "20000",
        },
      }),
    ),
  ];
}

const NODE_FLAGS: Readonly<Record<string, readonly string[]>> = {
  "control plane": SERVICE_NODE_FLAGS,
  edge: SERVICE_NODE_FLAGS,
  trainer: TRAINER_NODE_FLAGS,
};

function memberOf(
  { role, index, address, entry, folder, env }: Planned,
  { root: firstRoot, networks }: Pick<ClusterOptions, "root" | "networks">,
): Member {
  const nodeFlags = NODE_FLAGS[role] ?? HARDENING_FLAGS;
  const launcher = role === "control plane" ? networks?.launcherOf(index) : undefined;
  const launch = (root: string | undefined) => startProcess({ entry, name: `${role} ${index}`, env, nodeFlags, launcher, root });
  return {
    role,
    index,
    address,
    process: launch(firstRoot),
    async start(code) {
      this.process = launch(code?.root);
      await this.process.ready;
    },
    loseDisk: () => rmSync(folder, { recursive: true, force: true }),
  };
}

async function makeCerts(folder: string, { hosts, edges }: { hosts: readonly string[]; edges: number }): Promise<string> {
  const out = join(folder, "certs");
  const names = Array.from({ length: edges }, (_, index) => `edge-${index}`).join(",");
  const made = await gwWith(["admin", "certs", "--out", out, "--hosts", hosts.join(","), "--edges", names], { env: { HOME: folder } });
  if (made.exit !== 0) throw new Error(`no certificates: ${made.err}`);
  return out;
}
