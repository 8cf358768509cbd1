import { ownerOf, type PeerRole } from "../../common/peers/peer.ts";
import { AccessServiceService } from "../../proto/gen/tributary/access/v1/access.ts";
import { AlertsServiceService } from "../../proto/gen/tributary/alerts/v1/alerts.ts";
import { AuditServiceService } from "../../proto/gen/tributary/audit/v1/audit.ts";
import { CatalogServiceService } from "../../proto/gen/tributary/catalog/v1/catalog.ts";
import { ContentsServiceService } from "../../proto/gen/tributary/contents/v1/contents.ts";
import { GatewayServiceService } from "../../proto/gen/tributary/gateway/v1/gateway.ts";
import { IdentityServiceService } from "../../proto/gen/tributary/identity/v1/identity.ts";
import { KeysServiceService } from "../../proto/gen/tributary/keys/v1/keys.ts";
import { LedgerServiceService } from "../../proto/gen/tributary/ledger/v1/ledger.ts";
import { McpServiceService } from "../../proto/gen/tributary/mcp/v1/mcp.ts";
import { OrganizationsServiceService } from "../../proto/gen/tributary/organizations/v1/organizations.ts";
import { ProofServiceService } from "../../proto/gen/tributary/proof/v1/proof.ts";
import { RatesServiceService } from "../../proto/gen/tributary/rates/v1/rates.ts";
import { RecordsServiceService } from "../../proto/gen/tributary/records/v1/records.ts";
import { SystemServiceService } from "../../proto/gen/tributary/system/v1/system.ts";
import { TeamsServiceService } from "../../proto/gen/tributary/teams/v1/teams.ts";
import { TrainedModelServiceService } from "../../proto/gen/tributary/training/v1/trained_models.ts";
import { TrainingServiceService } from "../../proto/gen/tributary/training/v1/training.ts";
import { UsageServiceService } from "../../proto/gen/tributary/usage/v1/usage.ts";
import { WebhooksServiceService } from "../../proto/gen/tributary/webhooks/v1/webhooks.ts";

type Methods = Readonly<Record<string, { readonly path: string }>>;
type Roles = readonly PeerRole[];

const EDGE: Roles = ["edge"];
const COORDINATOR: Roles = ["coordinator"];
/** Operations of people, who prove themselves with a token inside the call. */
const PEOPLE: Roles = ["edge", "operator"];
const ALL_ROLES: Roles = ["control-plane", "edge", "coordinator", "trainer", "operator"];

/** Who may call each service. */
const SERVICES: readonly (readonly [Methods, Roles])[] = [
  // Provider keys, credit and tenants' records are for edges alone: an operator has the platform API.
  [AccessServiceService, EDGE],
  [RecordsServiceService, EDGE],
  [RatesServiceService, ["control-plane"]],
  [AlertsServiceService, PEOPLE],
  [AuditServiceService, PEOPLE],
  [CatalogServiceService, PEOPLE],
  [ContentsServiceService, PEOPLE],
  [GatewayServiceService, PEOPLE],
  [IdentityServiceService, PEOPLE],
  [KeysServiceService, PEOPLE],
  [LedgerServiceService, PEOPLE],
  [McpServiceService, PEOPLE],
  [OrganizationsServiceService, PEOPLE],
  [ProofServiceService, PEOPLE],
  [SystemServiceService, PEOPLE],
  [TeamsServiceService, PEOPLE],
  [TrainedModelServiceService, PEOPLE],
  [TrainingServiceService, PEOPLE],
  [UsageServiceService, PEOPLE],
  [WebhooksServiceService, PEOPLE],
];

const training = TrainingServiceService;
/** Methods that differ from their service. */
const METHODS: readonly (readonly [{ readonly path: string }, Roles])[] = [
  [SystemServiceService.reportEdge, EDGE],
  [ContentsServiceService.storeContents, EDGE],
  // With headers, which are secrets of organizations.
  [McpServiceService.findServers, EDGE],
  // Participants with a join token come through edges.
  [training.joinFederation, EDGE],
  [training.enrollParticipant, EDGE],
  [training.leaveFederation, EDGE],
  [training.findParameters, EDGE],
  ...[
    training.claimFederations,
    training.renewFederation,
    training.releaseFederation,
    training.reportWaiting,
    training.setInitial,
    training.reportProgress,
    training.openRound,
    training.recordResult,
    training.setPhase,
    training.commitRound,
    training.endFederation,
    training.getHistory,
    training.runInnerRounds,
    training.getWork,
    training.listBlobUses,
  ].map((method) => [method, COORDINATOR] as const),
];

const HEALTH = "/grpc.health.v1.Health/";
const REFLECTION = "/grpc.reflection.";

const rolesByPath: ReadonlyMap<string, Roles> = new Map([
  ...SERVICES.flatMap(([methods, roles]) => Object.values(methods).map(({ path }) => [path, roles] as const)),
  ...METHODS.map(([{ path }, roles]) => [path, roles] as const),
]);

/** The roles that may call a method; none for a method that the table does not have. */
export function rolesOf(path: string): Roles {
  if (path.startsWith(HEALTH)) return ALL_ROLES;
  if (path.startsWith(REFLECTION)) return ["operator"];
  return rolesByPath.get(path) ?? [];
}

type EdgeIds = (request: unknown) => readonly string[];

function edgeIds<Request>(
  { path }: { path: string; requestDeserialize: (bytes: Buffer) => Request },
  read: (request: Request) => readonly string[],
): readonly [string, EdgeIds] {
  return [path, read as EdgeIds];
}

/** The edge ids in the requests of edges. */
const edgeIdsByPath: ReadonlyMap<string, EdgeIds> = new Map([
  edgeIds(AccessServiceService.watch, ({ edgeId }) => [edgeId]),
  edgeIds(AccessServiceService.reserve, ({ edgeId }) => [edgeId]),
  edgeIds(AccessServiceService.reserveMany, ({ reservations }) => reservations.map(({ edgeId }) => edgeId)),
  edgeIds(AccessServiceService.lease, ({ edgeId }) => [edgeId]),
  // Ids without an owner are from before the installation had certificates; the edge with their journal ends them.
  edgeIds(AccessServiceService.settle, ({ edgeId, endedEdges }) => [edgeId, ...endedEdges.filter((id) => ownerOf(id) !== undefined)]),
  edgeIds(AccessServiceService.flushed, ({ edgeId }) => [edgeId]),
  edgeIds(SystemServiceService.reportEdge, ({ id }) => [id]),
]);

/** An edge id in a request that does not belong to the edge of this name. */
export function foreignEdgeId(path: string, request: unknown, name: string): string | undefined {
  return edgeIdsByPath
    .get(path)?.(request)
    .find((id) => ownerOf(id) !== name);
}
