import { AppError } from "../../../common/errors.ts";
import type { ServiceHandlers } from "../../../common/grpc/server.ts";
import { capabilitiesInHeader } from "../../../common/training/capabilities.ts";
import { inabilityOf } from "../../../common/training/federation-needs.ts";
import { federationSettings } from "../../../common/training/federation-settings.ts";
import {
  CreateNodeResponse,
  DeleteNodeResponse,
  JoinFederationResponse,
  type TrainingServiceService,
} from "../../../proto/gen/tributary/training/v1/training.ts";
import type { Federation } from "../../domain/training-records.ts";
import { collect, slicePage } from "../../stores/page.ts";
import { federationScope } from "../../stores/scopes.ts";
import { putFederation } from "../../writes/federations.ts";
import type { ControlDeps } from "../deps.ts";
import { metaOf, pageOf } from "../messages.ts";
import { write } from "../write.ts";
import { requireManager, requireTrainingActor, requireVisible, teamForNew } from "./access.ts";
import { isParticipants } from "./blobs.ts";
import { nodeMessage } from "./messages.ts";
import { refusePrivateNames } from "./node-names.ts";
import { checkNodeUrl, nodeFor } from "./participants.ts";
import { refuseOperatorsNodes, sharedCredentials, sharedNode, sharedNodes } from "./shared-nodes.ts";

type Handlers = ServiceHandlers<typeof TrainingServiceService>;

/** Handlers for the trainer nodes of teams, and for participants that join by token because they cannot be called. */
export function trainingNodeHandlers(
  deps: ControlDeps,
): Pick<Handlers, "createNode" | "listNodes" | "getNode" | "deleteNode" | "joinFederation"> {
  return {
    async createNode(request, context) {
      const actor = await requireTrainingActor(deps, context);
      const team = await teamForNew(deps.store, actor, request.teamId);
      const url = checkNodeUrl(deps, request.url, "body.url");
      await refusePrivateNames([{ url, path: "body.url" }], { allowPrivate: deps.config.allowPrivateNodes, clock: deps.clock });
      await refuseOperatorsNodes([{ url, path: "body.url" }], deps.config);
      return write(deps, context, { actor: actor.person, codec: CreateNodeResponse, scopes: [] }, async ({ tx, now, audit }) => {
        if (await tx.find("trainerNodes", "byTeamAndUrl", [team.id, url])) {
          throw new AppError("ALREADY_EXISTS", "The team has a node with this address already.", {
            details: [{ path: "body.url", message: "is taken" }],
          });
        }
        const node = await nodeFor(deps, tx, { team, url, name: request.name, token: request.token, secret: request.secret }, now);
        await audit({ action: "node.create", target: node.id, organizationId: team.organizationId, details: { url } });
        return { node: nodeMessage(node) };
      });
    },

    async listNodes(request, context) {
      const actor = await requireTrainingActor(deps, context);
      const visible = await actor.teamIds(deps.store);
      const page = pageOf(request.page);
      const own = await collect(
        deps.store.scan("trainerNodes", { index: "byOrganization", equals: [actor.organizationId], reverse: true }),
      );
      const seen = own.filter(({ teamId }) => visible === "all" || visible.has(teamId));
      const { records, total } = slicePage([...sharedNodes(deps.config), ...seen], page);
      return { nodes: records.map((node) => nodeMessage(node)), meta: metaOf(page, total) };
    },

    async getNode({ id, withToken }, context) {
      const actor = await requireTrainingActor(deps, context);
      // Sent to every node, because the edge cannot know which addresses are the same node.
      const tenantId = actor.organizationId;
      const shared = sharedNode(deps.config, id);
      if (shared) {
        const credentials = withToken ? sharedCredentials(deps.config, shared.url) : {};
        return { node: { ...nodeMessage(shared), ...credentials }, tenantId };
      }
      const found = await deps.store.get("trainerNodes", id);
      const { found: node } = await requireVisible(deps.store, { actor, found, what: "node" });
      return { node: nodeMessage(node, withToken ? deps : undefined), tenantId };
    },

    async deleteNode({ id }, context) {
      const actor = await requireTrainingActor(deps, context);
      if (sharedNode(deps.config, id)) throw new AppError("FORBIDDEN", "This is a shared node of the operator and cannot be removed.");
      return write(deps, context, { actor: actor.person, codec: DeleteNodeResponse, scopes: [] }, async ({ tx, audit }) => {
        const { found: node, role } = await requireVisible(tx, { actor, found: await tx.get("trainerNodes", id), what: "node" });
        requireManager(role);
        await tx.remove("trainerNodes", node.id);
        await audit({ action: "node.delete", target: node.id, organizationId: node.organizationId });
        return {};
      });
    },

    async joinFederation({ token, blob, capabilities }, context) {
      const hash = deps.secrets.tokenHash(token);
      const federationId = await federationOfToken(deps, hash);
      const scopes = federationId === undefined ? [] : [federationScope(federationId)];
      const joined = await write(deps, context, { actor: undefined, codec: JoinFederationResponse, scopes }, async ({ tx, now }) => {
        const federation = federationId === undefined ? undefined : await tx.get("federations", federationId);
        const place = federation?.participants.find(({ joinHash }) => joinHash === hash);
        if (!federation || !place) throw new AppError("UNAUTHORIZED", "The join token is not valid, or its federation has ended.");
        if (capabilities !== undefined) refuseUnable(federation, place, capabilities);
        const participants = federation.participants.map((one) => (one.id === place.id ? { ...one, joined: true } : one));
        // A participant joins repeatedly; only the first time writes an event.
        const first = [{ type: "participant.joined", data: { participantId: place.id } }];
        if (!place.joined) await putFederation(tx, { ...federation, participants }, first, now);
        const { id, organizationId, holder = "" } = federation;
        const secret = deps.secrets.open(place.sealedSecret).toString();
        return { federationId: id, participantId: place.id, secret, organizationId, namesBlob: false, holder };
      });
      return { ...joined, namesBlob: blob !== "" && (await isParticipants(deps.store, { ...joined, blob })) };
    },
  };
}

/** Refuses a participant that asks for work and lacks what the federation's privacy or strategy needs. */
function refuseUnable({ settings }: Federation, { id }: { id: string }, capabilities: string): void {
  const inability = inabilityOf(capabilitiesInHeader(capabilities), federationSettings.parse(JSON.parse(settings)));
  if (inability === undefined) return;
  const message = `Participant ${id} ${inability}`;
  throw new AppError("VALIDATION_ERROR", `${message}.`, { details: [{ path: "headers.x-capabilities", message }] });
}

/** The token contains no id, so that it reveals nothing; the due federations are searched for its hash. */
async function federationOfToken({ store }: ControlDeps, hash: string): Promise<string | undefined> {
  for await (const federation of store.scan("federations", { index: "byDue" })) {
    if (federation.participants.some(({ joinHash }) => joinHash === hash)) return federation.id;
  }
  return undefined;
}
