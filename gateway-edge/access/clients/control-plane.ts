import type { ClientReadableStream } from "@grpc/grpc-js";
import { type CallOptions, openChannel, type Proof, type ServiceClient } from "../../../common/grpc/client.ts";
import { AccessServiceService, type WatchRequest, type WatchResponse } from "../../../proto/gen/tributary/access/v1/access.ts";
import { AlertsServiceService } from "../../../proto/gen/tributary/alerts/v1/alerts.ts";
import { AuditServiceService } from "../../../proto/gen/tributary/audit/v1/audit.ts";
import { CatalogServiceService } from "../../../proto/gen/tributary/catalog/v1/catalog.ts";
import { ContentsServiceService } from "../../../proto/gen/tributary/contents/v1/contents.ts";
import { GatewayServiceService } from "../../../proto/gen/tributary/gateway/v1/gateway.ts";
import { IdentityServiceService } from "../../../proto/gen/tributary/identity/v1/identity.ts";
import { KeysServiceService } from "../../../proto/gen/tributary/keys/v1/keys.ts";
import { LedgerServiceService } from "../../../proto/gen/tributary/ledger/v1/ledger.ts";
import { McpServiceService } from "../../../proto/gen/tributary/mcp/v1/mcp.ts";
import { OrganizationsServiceService } from "../../../proto/gen/tributary/organizations/v1/organizations.ts";
import { ProofServiceService } from "../../../proto/gen/tributary/proof/v1/proof.ts";
import {
  type GetContentRequest,
  type GetContentResponse,
  type PutContentRequest,
  type PutContentResponse,
  RecordsServiceService,
} from "../../../proto/gen/tributary/records/v1/records.ts";
import { type BackupRequest, type BackupResponse, SystemServiceService } from "../../../proto/gen/tributary/system/v1/system.ts";
import { TeamsServiceService } from "../../../proto/gen/tributary/teams/v1/teams.ts";
import { TrainedModelServiceService } from "../../../proto/gen/tributary/training/v1/trained_models.ts";
import { TrainingServiceService } from "../../../proto/gen/tributary/training/v1/training.ts";
import { UsageServiceService } from "../../../proto/gen/tributary/usage/v1/usage.ts";
import { WebhooksServiceService } from "../../../proto/gen/tributary/webhooks/v1/webhooks.ts";
import { encodeSettleRequest } from "./settle-request.ts";

/** Clients of every service of the control plane, over one gRPC channel. */
export interface ControlPlane {
  readonly access: ServiceClient<typeof AccessServiceService>;
  readonly alerts: ServiceClient<typeof AlertsServiceService>;
  readonly audit: ServiceClient<typeof AuditServiceService>;
  readonly catalog: ServiceClient<typeof CatalogServiceService>;
  readonly contents: ServiceClient<typeof ContentsServiceService>;
  readonly gateway: ServiceClient<typeof GatewayServiceService>;
  readonly identity: ServiceClient<typeof IdentityServiceService>;
  readonly keys: ServiceClient<typeof KeysServiceService>;
  readonly ledger: ServiceClient<typeof LedgerServiceService>;
  readonly mcp: ServiceClient<typeof McpServiceService>;
  readonly organizations: ServiceClient<typeof OrganizationsServiceService>;
  readonly proof: ServiceClient<typeof ProofServiceService>;
  readonly records: RecordsClient;
  readonly system: SystemClient;
  readonly teams: ServiceClient<typeof TeamsServiceService>;
  readonly trainedModels: ServiceClient<typeof TrainedModelServiceService>;
  readonly training: ServiceClient<typeof TrainingServiceService>;
  readonly usage: ServiceClient<typeof UsageServiceService>;
  readonly webhooks: ServiceClient<typeof WebhooksServiceService>;
  /** The feed, from a revision on. */
  watch(request: WatchRequest, options: CallOptions): ClientReadableStream<WatchResponse>;
  /** Drops a connection that no longer delivers messages and opens another one. */
  reconnect(): void;
  close(): void;
}

/** The records service with its two streaming calls. */
export interface RecordsClient extends ServiceClient<typeof RecordsServiceService> {
  putContent(messages: AsyncIterable<PutContentRequest>, options: CallOptions): Promise<PutContentResponse>;
  getContent(request: GetContentRequest, options: CallOptions): AsyncIterable<GetContentResponse>;
}

/** The system service with its streaming call. */
export interface SystemClient extends ServiceClient<typeof SystemServiceService> {
  backup(request: BackupRequest, options: CallOptions): AsyncIterable<BackupResponse>;
}

const accessService = {
  ...AccessServiceService,
  settle: { ...AccessServiceService.settle, requestSerialize: encodeSettleRequest },
} as const;

export function connectControlPlane(address: string, proof: Proof = {}): ControlPlane {
  const channel = openChannel(address, proof);
  return {
    access: channel.service(accessService),
    alerts: channel.service(AlertsServiceService),
    audit: channel.service(AuditServiceService),
    catalog: channel.service(CatalogServiceService),
    contents: channel.service(ContentsServiceService),
    gateway: channel.service(GatewayServiceService),
    identity: channel.service(IdentityServiceService),
    keys: channel.service(KeysServiceService),
    ledger: channel.service(LedgerServiceService),
    mcp: channel.service(McpServiceService),
    organizations: channel.service(OrganizationsServiceService),
    proof: channel.service(ProofServiceService),
    records: {
      ...channel.service(RecordsServiceService),
      putContent: (messages, options) => channel.upload(RecordsServiceService.putContent, messages, options),
      getContent: (request, options) => channel.download(RecordsServiceService.getContent, request, options),
    },
    system: {
      ...channel.service(SystemServiceService),
      backup: (request, options) => channel.download(SystemServiceService.backup, request, options),
    },
    teams: channel.service(TeamsServiceService),
    trainedModels: channel.service(TrainedModelServiceService),
    training: channel.service(TrainingServiceService),
    usage: channel.service(UsageServiceService),
    webhooks: channel.service(WebhooksServiceService),
    watch: (request, options) => channel.stream(AccessServiceService.watch, request, options),
    reconnect: () => channel.reconnect(),
    close: () => channel.close(),
  };
}
