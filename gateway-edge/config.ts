import { resolve } from "node:path";
import { z } from "zod";
import { countSetting, developerFlag, flagSetting, portSetting, readConfig } from "../common/config.ts";
import { exposureSettings, isExposed, isOpen } from "../common/exposed.ts";
import { TRANSPORTS, type TransportName } from "./upstream/transports/transport.ts";

const shape = {
  ...exposureSettings,
  PORT: portSetting(4000),
  HOST: z.string().default("127.0.0.1"),
  /** A second listener that takes keys only in x-gw-api-key; unset = none. */
  HOSTED_PORT: z.coerce.number("must be a port number").int().min(0).max(65_535).optional(),
  AUTH_PROFILE: z.enum(["gateway", "hosted"]).default("gateway"),
  CONTROL_ADDRESS: z.string().default("127.0.0.1:4100"),
  /** The coordinator, which serves trained parameters and verifies federations. */
  COORDINATOR_URL: z
    .url({ protocol: /^https?$/, error: "must be an http or https address" })
    .transform((url) => url.replace(/\/+$/, ""))
    .default("http://127.0.0.1:5100"),
  /** The bearer token that the coordinator expects. */
  COORDINATOR_TOKEN: z.string().min(16, "must have 16 characters or more").optional(),
  EDGE_INDEX: countSetting(0, { min: 0, max: 1023 }),
  /** Several edge processes share the port; the kernel spreads connections over them. */
  EDGE_REUSE_PORT: flagSetting(false),
  EDGES: countSetting(1, { min: 1, max: 1024 }),
  /** Addresses or CIDRs of proxies whose x-forwarded-for is trusted; comma-separated, unset = none. */
  TRUST_PROXY: z.string().optional(),
  CORS_ORIGINS: z.string().optional(),
  JSON_BODY_BYTES_MAX: countSetting(10 * 1024 * 1024, { min: 1024, max: 512 * 1024 * 1024 }),
  /** Size limit of one file that a team uploads. */
  FILE_BYTES_MAX: countSetting(100 * 1024 * 1024, { min: 1024, max: 512 * 1024 * 1024 }),
  /** Lines of one batch that are called at the same time. */
  BATCH_CONCURRENCY: countSetting(8, { min: 1, max: 256 }),
  /** Lease of a claim on background work: after this time another edge takes over from an edge that died. */
  WORK_LEASE_MS: countSetting(15_000, { min: 1000, max: 600_000 }),
  /** How long a cached key stays valid without a heartbeat of the control plane. */
  MIRROR_AGE_MS: countSetting(5000, { min: 100, max: 60_000 }),
  /** Where the response cache is: in this process or in Redis; unset = as the configuration file says. */
  CACHE: z.enum(["memory", "redis"]).optional(),
  REDIS_URL: z.string().optional(),
  CACHE_BYTES_MAX: countSetting(64 * 1024 * 1024, { min: 1024, max: 16 * 1024 * 1024 * 1024 }),
  /** Concurrent calls to one upstream; further calls wait. The open-file limit can lower it. */
  UPSTREAM_CONNECTIONS_MAX: countSetting(8192, { min: 1, max: 65_536 }),
  UPSTREAM_TRANSPORT: z.enum(TRANSPORTS).default("http1"),
  DATA_DIR: z.string().default("./data"),
  /** Whether the journal survives only a killed process (`process`) or a power cut too (`disk`). */
  JOURNAL_SYNC: z.enum(["process", "disk"]).default("process"),
  LOG_LEVEL: z.enum(["debug", "info", "warn", "error"]).default("info"),
  /** Whether tenants' trainer nodes may have private and loopback addresses; unset = only if the deployment is not exposed. */
  ALLOW_PRIVATE_NODES: developerFlag,
};

/** The settings of one edge process, read from the environment. */
export interface EdgeConfig {
  port: number;
  host: string;
  hostedPort: number | undefined;
  authProfile: "gateway" | "hosted";
  controlAddress: string;
  coordinatorUrl: string;
  coordinatorToken: string | undefined;
  /** Whether tenants' trainer nodes may be in the operator's own network. */
  allowPrivateNodes: boolean;
  edgeIndex: number;
  reusePort: boolean;
  trustProxy: readonly string[];
  corsOrigins: readonly string[];
  jsonBodyBytesMax: number;
  fileBytesMax: number;
  batchConcurrency: number;
  workLeaseMs: number;
  mirrorAgeMs: number;
  cache: "memory" | "redis" | undefined;
  redisUrl: string | undefined;
  cacheBytesMax: number;
  upstreamConnectionsMax: number;
  upstreamTransport: TransportName;
  /** One folder per edge: two edges on one folder would recover each other's running calls as dead. */
  journalFolder: string;
  journalSync: "process" | "disk";
  logLevel: string;
}

export function readEdgeConfig(environment: Readonly<Record<string, string | undefined>>): EdgeConfig {
  const settings = readConfig(shape, environment);
  return {
    port: settings.PORT,
    host: settings.HOST,
    hostedPort: settings.HOSTED_PORT,
    authProfile: settings.AUTH_PROFILE,
    controlAddress: settings.CONTROL_ADDRESS,
    coordinatorUrl: settings.COORDINATOR_URL,
    coordinatorToken: settings.COORDINATOR_TOKEN,
    allowPrivateNodes: isOpen(settings.ALLOW_PRIVATE_NODES, isExposed(settings)),
    edgeIndex: settings.EDGE_INDEX,
    reusePort: settings.EDGE_REUSE_PORT || settings.EDGES > 1,
    trustProxy: splitList(settings.TRUST_PROXY),
    corsOrigins: splitList(settings.CORS_ORIGINS),
    jsonBodyBytesMax: settings.JSON_BODY_BYTES_MAX,
    fileBytesMax: settings.FILE_BYTES_MAX,
    batchConcurrency: settings.BATCH_CONCURRENCY,
    workLeaseMs: settings.WORK_LEASE_MS,
    mirrorAgeMs: settings.MIRROR_AGE_MS,
    cache: settings.CACHE,
    redisUrl: settings.REDIS_URL,
    cacheBytesMax: settings.CACHE_BYTES_MAX,
    upstreamConnectionsMax: settings.UPSTREAM_CONNECTIONS_MAX,
    upstreamTransport: settings.UPSTREAM_TRANSPORT,
    journalFolder: resolve(settings.DATA_DIR, "journal", `edge-${settings.EDGE_INDEX}`),
    journalSync: settings.JOURNAL_SYNC,
    logLevel: settings.LOG_LEVEL,
  };
}

function splitList(text: string | undefined): string[] {
  return (text ?? "")
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
}
