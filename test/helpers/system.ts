import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { HARDENING_FLAGS, SERVICE_NODE_FLAGS, TRAINER_NODE_FLAGS } from "../../common/node-flags.ts";
import { freePort, type ServiceProcess, type StartOptions, startProcess } from "./processes.ts";

export interface SystemOptions {
  /** The embedded store if absent. */
  mongoUri?: string;
  mongoDatabase?: string;
  env?: Readonly<Record<string, string>>;
  /** Also start a trainer node. */
  trainer?: boolean;
  /** Also start a coordinator. */
  coordinator?: boolean;
  /** Number of edges that share the port. */
  edges?: number;
  /** Additional Node flags of the control plane, such as a module to preload. */
  controlPlaneFlags?: readonly string[];
  /** Additional Node flags of the edges. */
  edgeFlags?: readonly string[];
  /** Further settings of the edges alone; of several, each has the METRICS_PORT after that of the one before. */
  edgeEnv?: Readonly<Record<string, string>>;
  /** Prefix of an edge's command; see startProcess. */
  edgeLauncher?: (journalFolder: string) => readonly string[];
}

export const ADMIN_EMAIL = "admin@localhost";
export const ADMIN_PASSWORD = "canary-admin-password-7f3a";
export const MASTER_KEY = "sk-canary-master-key-of-the-tests";

/** A complete platform as real processes on loopback, with a separate data folder. */
export interface System {
  readonly url: string;
  readonly hostedUrl: string;
  readonly trainerUrl: string;
  readonly coordinatorUrl: string;
  readonly folder: string;
  readonly controlPlane: ServiceProcess;
  readonly edges: readonly ServiceProcess[];
  /** The coordinator, if there is one; replaced after a kill. */
  readonly coordinator: ServiceProcess | undefined;
  /** Kills the control plane like a power cut and restarts it on the same data and port. */
  killControlPlane(meanwhile?: () => Promise<void>): Promise<void>;
  /** Stops the control plane, waits for its exit, and restarts it with more settings on the same data and port. */
  restartControlPlane(env: Readonly<Record<string, string>>): Promise<void>;
  killEdge(index: number): Promise<void>;
  /** Kills the coordinator and restarts it on the same data and port. */
  killCoordinator(): Promise<void>;
  /** Stops an edge, waits for its exit, and restarts it. */
  restartEdge(index: number): Promise<void>;
  /** All output of the processes so far. */
  logs(): string;
  stop(): Promise<void>;
}

export async function startSystem(options: SystemOptions = {}): Promise<System> {
  for (let attempt = 1; ; attempt++) {
    const folder = mkdtempSync(join(tmpdir(), "tributary-system-"));
    const started: ServiceProcess[] = [];
    try {
      return await startIn({ folder, started }, options);
    } catch (error) {
      await Promise.all(started.map((child) => child.kill9()));
      rmSync(folder, { recursive: true, force: true });
      // Another test took the port between the check and its use: try again.
      if (attempt === START_ATTEMPTS || !String(error).includes("EADDRINUSE")) throw error;
    }
  }
}

const START_ATTEMPTS = 3;
export const COORDINATOR_TOKEN = "what-this-system's-coordinator-wants-to-see";
export const TRAINER_TOKEN = "what-this-system's-trainer-wants-to-see";

async function startIn({ folder, started }: { folder: string; started: ServiceProcess[] }, options: SystemOptions): Promise<System> {
  const [port, hostedPort, controlPort, trainerPort] = [await freePort(), await freePort(), await freePort(), await freePort()];
  const coordinatorPort = await freePort();
  const edgeCount = options.edges ?? 1;
  const env: Record<string, string> = {
    DATA_DIR: folder,
    PORT: String(port),
    HOSTED_PORT: String(hostedPort),
    CONTROL_PORT: String(controlPort),
    CONTROL_ADDRESS: `127.0.0.1:${controlPort}`,
    TRAINER_PORT: String(trainerPort),
    COORDINATOR_PORT: String(coordinatorPort),
    BLOB_SOURCE_URL: `http://127.0.0.1:${coordinatorPort}`,
    COORDINATOR_TOKEN,
    // As make run does.
    TRAINER_TOKEN,
    TRAINER_ANONYMOUS: String(options.env?.["TRAINER_TOKEN"] === undefined),
    BLOB_SOURCE_TOKEN: COORDINATOR_TOKEN,
    COORDINATOR_URL: `http://127.0.0.1:${coordinatorPort}`,
    EDGES: String(edgeCount),
    // Without a node, these models cannot be served.
    BUILT_IN_MODELS: String(options.trainer ?? false),
    // A test that stops processes in the middle of calls does not want to wait for them.
    DRAIN_MS: "10000",
    ADMIN_PASSWORD,
    MASTER_KEY,
    ...(options.mongoUri ? { MONGODB_URI: options.mongoUri, MONGODB_DATABASE: options.mongoDatabase ?? "tributary" } : {}),
    ...options.env,
  };
  const start = async (
    entry: string,
    name: string,
    { more = {}, launcher = [], nodeFlags = [] }: { more?: Record<string, string> } & Pick<StartOptions, "launcher" | "nodeFlags"> = {},
  ) => {
    const child = startProcess({ entry, name, env: { ...env, ...more }, launcher, nodeFlags });
    started.push(child);
    await child.ready;
    return child;
  };
  const startControlPlane = () =>
    start("control-plane/main.ts", "control plane", { nodeFlags: [...SERVICE_NODE_FLAGS, ...(options.controlPlaneFlags ?? [])] });
  let controlPlane = await startControlPlane();
  const { METRICS_PORT } = options.edgeEnv ?? {};
  const metricsOf = (index: number) => (METRICS_PORT === undefined ? {} : { METRICS_PORT: String(Number(METRICS_PORT) + index) });
  const startEdge = (index: number) =>
    start("gateway-edge/main.ts", `edge ${index}`, {
      more: { ...options.edgeEnv, ...metricsOf(index), EDGE_INDEX: String(index) },
      nodeFlags: [...SERVICE_NODE_FLAGS, ...(options.edgeFlags ?? [])],
      launcher: options.edgeLauncher?.(join(folder, "journal", `edge-${index}`)) ?? [],
    });
  const edges = await Promise.all(Array.from({ length: edgeCount }, (_, index) => startEdge(index)));
  const trainer = options.trainer ? await start("trainer-node/main.ts", "trainer", { nodeFlags: TRAINER_NODE_FLAGS }) : undefined;
  const startCoordinator = () => start("trainer-node/coordinator/main.ts", "coordinator", { nodeFlags: HARDENING_FLAGS });
  let coordinator = options.coordinator ? await startCoordinator() : undefined;
  return {
    url: `http://127.0.0.1:${port}`,
    hostedUrl: `http://127.0.0.1:${hostedPort}`,
    trainerUrl: `http://127.0.0.1:${trainerPort}`,
    coordinatorUrl: `http://127.0.0.1:${coordinatorPort}`,
    folder,
    edges,
    get controlPlane() {
      return controlPlane;
    },
    get coordinator() {
      return coordinator;
    },
    async killControlPlane(meanwhile) {
      await controlPlane.kill9();
      await meanwhile?.();
      controlPlane = await startControlPlane();
    },
    async restartControlPlane(more) {
      await controlPlane.stop();
      Object.assign(env, more);
      controlPlane = await startControlPlane();
    },
    async killEdge(index) {
      await edges[index]?.kill9();
      edges[index] = await startEdge(index);
    },
    async killCoordinator() {
      await coordinator?.kill9();
      coordinator = await startCoordinator();
    },
    async restartEdge(index) {
      await edges[index]?.stop();
      edges[index] = await startEdge(index);
    },
    logs: () => started.map((child) => child.stdout + child.stderr).join("\n"),
    async stop() {
      await coordinator?.stop();
      await Promise.all([...edges, ...(trainer ? [trainer] : [])].map((child) => child.stop()));
      await controlPlane.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
