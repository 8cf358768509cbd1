import { resolve } from "node:path";
import { z } from "zod";
import {
  countSetting,
  dataDirSetting,
  developerFlag,
  drainSettings,
  type Environment,
  flagSetting,
  listSetting,
  logLevelSetting,
  portSetting,
  readConfig,
} from "../common/config.ts";
import { exposureSettings, isExposed, isOpen } from "../common/exposed.ts";
import { metricsSettings } from "../common/metrics/metrics-settings.ts";
import { controlClientSettings, readClientTls } from "../common/peers/control-client.ts";
import { secretSetting } from "../common/secret-files.ts";
import { traceSettings } from "../common/tracing/trace-settings.ts";
import { accessLogSetting } from "./server/middleware/access-log.ts";
import { readProxies } from "./upstream/transports/proxies.ts";
import { TRANSPORTS } from "./upstream/transports/transport.ts";

/** The settings of an edge; docs/settings.md is printed from them. */
export const edgeSettings = {
  ...exposureSettings,
  PORT: portSetting(4000).describe("Port of the gateway: API, platform and console."),
  HOSTED_PORT: z.coerce
    .number("must be a port number")
    .int()
    .min(0)
    .max(65_535)
    .optional()
    .describe("Port of a second listener with `AUTH_PROFILE=hosted`."),
  AUTH_PROFILE: z
    .enum(["gateway", "hosted"])
    .default("gateway")
    .describe("`gateway` takes API keys in every header that OpenAI's and Anthropic's clients use, `hosted` in `x-gw-api-key` only."),
  ...controlClientSettings,
  ...metricsSettings,
  ...traceSettings,
  COORDINATOR_URL: z
    .url({ protocol: /^https?$/, error: "must be an http or https address" })
    .default("http://127.0.0.1:5100")
    .transform((url) => url.replace(/(?<!\/)\/+$/, ""))
    .describe("Address of the coordinator, which serves trained parameters and verifies federations. `make run` sets it."),
  COORDINATOR_TOKEN: secretSetting(z.string().min(16, "must have 16 characters or more").optional()),
  EDGE_INDEX: countSetting(0, { min: 0, max: 1023 }).describe(
    "Number of this edge on its machine; it names its journal. `make run` sets it.",
  ),
  EDGE_REUSE_PORT: flagSetting(false).describe("Whether several edge processes share the port; so it is anyway with `EDGES` above 1."),
  EDGES: countSetting(1, { min: 1, max: 1024 }),
  CORS_ORIGINS: listSetting().describe("Origins whose pages may call the API, separated by commas."),
  JSON_BODY_BYTES_MAX: countSetting(10 * 1024 * 1024, { min: 1024, max: 512 * 1024 * 1024 }).describe("Largest JSON body of a call."),
  FILE_BYTES_MAX: countSetting(100 * 1024 * 1024, { min: 1024, max: 512 * 1024 * 1024 }).describe("Largest file of `/v1/files`."),
  BATCH_CONCURRENCY: countSetting(8, { min: 1, max: 256 }).describe("Lines of one batch that are called at the same time."),
  WORK_LEASE_MS: countSetting(15_000, { min: 1000, max: 600_000 }).describe(
    "Lease of a claim on background work: after this time another edge takes over from an edge that died.",
  ),
  MIRROR_AGE_MS: countSetting(5000, { min: 100, max: 60_000 }).describe(
    "How long a cached key stays valid without a heartbeat of the control plane.",
  ),
  CACHE: z.enum(["memory", "redis"]).optional().meta({
    description: "Exact response cache, per organization: in the edge process, or in Redis.",
    shownDefault: "off, or as the configuration file says",
  }),
  REDIS_URL: secretSetting(z.string().optional().describe("Address of the Redis that `CACHE=redis` uses.")),
  CACHE_BYTES_MAX: countSetting(64 * 1024 * 1024, { min: 1024, max: 16 * 1024 * 1024 * 1024 }).describe(
    "Memory that the response cache of one edge may take.",
  ),
  SEMANTIC_CACHE_BYTES_MAX: countSetting(64 * 1024 * 1024, { min: 8192, max: 16 * 1024 * 1024 * 1024 }).describe(
    "Memory that the vectors of the semantic cache of one edge may take; those of one organization take at most an eighth.",
  ),
  SEMANTIC_CACHE_ENTRIES_MAX: countSetting(1000, { min: 1, max: 100_000 }).describe(
    "Requests of one organization that the semantic cache of one edge compares; the oldest are removed first.",
  ),
  SEMANTIC_CACHE_TIMEOUT_MS: countSetting(1000, { min: 10, max: 60_000 }).describe(
    "How long the semantic cache waits for a vector. After that the call goes on without it.",
  ),
  UPSTREAM_CONNECTIONS_MAX: countSetting(8192, { min: 1, max: 65_536 }).describe(
    "Concurrent calls of one edge to one provider address; further calls wait. The open-file limit can lower it. The waiting time is in `x-gw-overhead-duration-ms` and `tributary_upstream_wait_seconds_total`.",
  ),
  UPSTREAM_TRANSPORT: z
    .enum(TRANSPORTS)
    .default("http1")
    .describe("How providers are called: `http1` is connections of our own, `undici` is those of the library undici."),
  OVERLOAD_TURN_MS: countSetting(100, { min: 0, max: 10_000 }).describe(
    "Longest turn of an edge's event loop. If each turn takes longer for half a second by the edge's own work, calls above the capacity are answered 503 with `retry-after` before they are read; 0: never.",
  ),
  ...drainSettings,
  STREAM_STALL_MS: countSetting(60_000, { min: 100, max: 3_600_000 }).describe(
    "How long a client may read nothing of a stream before its connection is closed. The call is billed for what left the gateway.",
  ),
  MCP_TIMEOUT_MS: countSetting(60_000, { min: 100, max: 3_600_000 }).describe("How long a call of a tool of an MCP server may take."),
  REALTIME_IDLE_MS: countSetting(300_000, { min: 100, max: 86_400_000 }).describe(
    "How long a realtime session may pass no event before it is closed.",
  ),
  REALTIME_SESSION_MS: countSetting(3_600_000, { min: 100, max: 86_400_000 }).describe("How long a realtime session may last."),
  DATA_DIR: dataDirSetting,
  JOURNAL_SYNC: z
    .enum(["process", "disk"])
    .default("process")
    .describe("Whether an edge's journal survives only a killed process (`process`) or a power cut too (`disk`)."),
  LOG_LEVEL: logLevelSetting,
  ACCESS_LOG: accessLogSetting,
  ALLOW_PRIVATE_NODES: developerFlag,
  ALLOW_PRIVATE_MCP: developerFlag,
  ALLOW_PRIVATE_UPSTREAMS: developerFlag,
};

/** The settings of one edge process, read from the environment. */
export type EdgeConfig = ReturnType<typeof readEdgeConfig>;

export function readEdgeConfig(environment: Environment) {
  const settings = readConfig(edgeSettings, environment);
  const exposed = isExposed(settings);
  return {
    ...settings,
    tls: readClientTls(settings, "edge"),
    allowPrivateNodes: isOpen(settings.allowPrivateNodes, exposed),
    allowPrivateMcp: isOpen(settings.allowPrivateMcp, exposed),
    allowPrivateUpstreams: isOpen(settings.allowPrivateUpstreams, exposed),
    proxyOf: readProxies(environment),
    reusePort: settings.edgeReusePort || settings.edges > 1,
    /** One folder per edge: two edges on one folder would recover each other's running calls as dead. */
    journalFolder: resolve(settings.dataDir, "journal", `edge-${settings.edgeIndex}`),
  };
}
