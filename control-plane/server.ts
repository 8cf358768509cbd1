import { join } from "node:path";
import { ServerCredentials } from "@grpc/grpc-js";
import { HealthImplementation } from "grpc-health-check";
import { isExposed } from "../common/exposed.ts";
import { type Admit, addService, createGrpcServer, type Elsewhere, guarded, listen, shutDown } from "../common/grpc/server.ts";
import type { PeerTls } from "../common/peers/tls.ts";
import { AlertsServiceService } from "../proto/gen/tributary/alerts/v1/alerts.ts";
import { AuditServiceService } from "../proto/gen/tributary/audit/v1/audit.ts";
import { CatalogServiceService } from "../proto/gen/tributary/catalog/v1/catalog.ts";
import { ContentsServiceService } from "../proto/gen/tributary/contents/v1/contents.ts";
import { GatewayServiceService } from "../proto/gen/tributary/gateway/v1/gateway.ts";
import { IdentityServiceService } from "../proto/gen/tributary/identity/v1/identity.ts";
import { KeysServiceService } from "../proto/gen/tributary/keys/v1/keys.ts";
import { LedgerServiceService } from "../proto/gen/tributary/ledger/v1/ledger.ts";
import { McpServiceService } from "../proto/gen/tributary/mcp/v1/mcp.ts";
import { OrganizationsServiceService } from "../proto/gen/tributary/organizations/v1/organizations.ts";
import { ProofServiceService } from "../proto/gen/tributary/proof/v1/proof.ts";
import { RatesServiceService } from "../proto/gen/tributary/rates/v1/rates.ts";
import { RecordsServiceService } from "../proto/gen/tributary/records/v1/records.ts";
import { SystemServiceService } from "../proto/gen/tributary/system/v1/system.ts";
import { TeamsServiceService } from "../proto/gen/tributary/teams/v1/teams.ts";
import { TrainedModelServiceService } from "../proto/gen/tributary/training/v1/trained_models.ts";
import { TrainingServiceService } from "../proto/gen/tributary/training/v1/training.ts";
import { UsageServiceService } from "../proto/gen/tributary/usage/v1/usage.ts";
import { WebhooksServiceService } from "../proto/gen/tributary/webhooks/v1/webhooks.ts";
import { addReflection } from "./reflection.ts";
import { ACCESS_SERVICE, accessHandlers, type MasterKey } from "./services/access/service.ts";
import { alertsHandlers } from "./services/alerts/service.ts";
import { auditHandlers } from "./services/audit/service.ts";
import { catalogHandlers } from "./services/catalog/service.ts";
import { contentsHandlers } from "./services/contents/service.ts";
import type { ControlDeps } from "./services/deps.ts";
import { gatewayHandlers } from "./services/gateway/service.ts";
import { identityHandlers } from "./services/identity/service.ts";
import { keysHandlers } from "./services/keys/service.ts";
import { ledgerHandlers } from "./services/ledger/service.ts";
import { mcpHandlers } from "./services/mcp/service.ts";
import { organizationsHandlers } from "./services/organizations/service.ts";
import { proofHandlers } from "./services/proof/service.ts";
import { ratesHandlers } from "./services/rates/service.ts";
import { recordsHandlers } from "./services/records/service.ts";
import { systemHandlers } from "./services/system/service.ts";
import { teamsHandlers } from "./services/teams/service.ts";
import { trainedModelHandlers } from "./services/trained-models/service.ts";
import { trainingHandlers } from "./services/training/service.ts";
import { usageHandlers } from "./services/usage/service.ts";
import { webhooksHandlers } from "./services/webhooks/service.ts";

const PROTO_FOLDER = join(import.meta.dirname, "..", "proto");
const SERVICES = [
  "access",
  "alerts",
  "audit",
  "catalog",
  "contents",
  "gateway",
  "identity",
  "keys",
  "ledger",
  "mcp",
  "organizations",
  "proof",
  "rates",
  "records",
  "system",
  "teams",
  "training",
  "usage",
  "webhooks",
];
const PROTO_FILES = [...SERVICES.map((name) => `tributary/${name}/v1/${name}.proto`), "tributary/training/v1/trained_models.proto"];

/** A gRPC server that listens. */
export interface RunningServer {
  port: number;
  /** The health check answers NOT_SERVING from now on; calls are answered as before. */
  announceStop(): void;
  /** Accepts no new calls, waits at most `graceMs` for running ones, then closes all connections. */
  stop(graceMs?: number): Promise<void>;
}

/** Serves every service of the control plane on one port, with gRPC health checking and, unless it is exposed, reflection. */
export async function startServer(
  deps: ControlDeps,
  { master, admit, elsewhere }: { master: MasterKey; admit: Admit; elsewhere?: Elsewhere },
): Promise<RunningServer> {
  const server = createGrpcServer();
  const admitted = { logger: deps.logger, admit, elsewhere };
  addService(server, ACCESS_SERVICE, accessHandlers(deps, master), admitted);
  addService(server, AlertsServiceService, alertsHandlers(deps), admitted);
  addService(server, AuditServiceService, auditHandlers(deps), admitted);
  addService(server, CatalogServiceService, catalogHandlers(deps), admitted);
  addService(server, ContentsServiceService, contentsHandlers(deps), admitted);
  addService(server, GatewayServiceService, gatewayHandlers(deps), admitted);
  addService(server, IdentityServiceService, identityHandlers(deps), admitted);
  addService(server, KeysServiceService, keysHandlers(deps), admitted);
  addService(server, LedgerServiceService, ledgerHandlers(deps), admitted);
  addService(server, McpServiceService, mcpHandlers(deps), admitted);
  addService(server, OrganizationsServiceService, organizationsHandlers(deps), admitted);
  addService(server, ProofServiceService, proofHandlers(deps), admitted);
  addService(server, RatesServiceService, ratesHandlers(deps), admitted);
  addService(server, RecordsServiceService, recordsHandlers(deps), admitted);
  addService(server, SystemServiceService, systemHandlers(deps), admitted);
  addService(server, TeamsServiceService, teamsHandlers(deps), admitted);
  addService(server, TrainedModelServiceService, trainedModelHandlers(deps), admitted);
  addService(server, TrainingServiceService, trainingHandlers(deps), admitted);
  addService(server, UsageServiceService, usageHandlers(deps), admitted);
  addService(server, WebhooksServiceService, webhooksHandlers(deps), admitted);
  const libraries = guarded(server, admit);
  if (!isExposed(deps.config)) addReflection(libraries, { files: PROTO_FILES, folder: PROTO_FOLDER });
  const health = new HealthImplementation({ "": "SERVING" });
  health.addToServer(libraries);
  const { controlHost: host, controlPort, tls } = deps.config;
  const address = `${host.includes(":") ? `[${host}]` : host}:${controlPort}`;
  const port = await listen(server, address, credentialsOf(tls));
  return {
    port,
    announceStop: () => health.setStatus("", "NOT_SERVING"),
    async stop(graceMs = 0) {
      health.setStatus("", "NOT_SERVING");
      await shutDown(server, graceMs);
    },
  };
}

/** With TLS a client without a certificate of our authority does not get past the handshake. */
function credentialsOf(tls: PeerTls | undefined): ServerCredentials {
  if (tls === undefined) return ServerCredentials.createInsecure();
  return ServerCredentials.createSsl(tls.ca, [{ private_key: tls.key, cert_chain: tls.cert }], true);
}
