import { AppError } from "../../../common/errors.ts";
import type { ServiceHandlers } from "../../../common/grpc/server.ts";
import { CreateNodeResponse, DeleteNodeResponse, type TrainingServiceService } from "../../../proto/gen/tributary/training/v1/training.ts";
import { collect, slicePage } from "../../stores/page.ts";
import type { ControlDeps } from "../deps.ts";
import { metaOf, pageOf } from "../messages.ts";
import { write } from "../write.ts";
import { requireManager, requireTrainingActor, requireVisible, teamForNew } from "./access.ts";
import { nodeMessage } from "./messages.ts";
import { refusePrivateNames } from "./node-names.ts";
import { checkNodeUrl, nodeFor } from "./participants.ts";
import { refuseOperatorsNodes, sharedCredentials, sharedNode, sharedNodes } from "./shared-nodes.ts";

type Handlers = ServiceHandlers<typeof TrainingServiceService>;

/** Handlers for the trainer nodes of teams. */
export function trainingNodeHandlers(deps: ControlDeps): Pick<Handlers, "createNode" | "listNodes" | "getNode" | "deleteNode"> {
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
  };
}
