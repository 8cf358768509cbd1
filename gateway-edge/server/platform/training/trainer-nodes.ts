import { isPlaceRefused } from "../../../../common/checked-lookup.ts";
import { createGuard, OPERATOR_GUARD } from "../../../../common/outbound.ts";
import { guardedDispatcher } from "../../../../common/outbound-undici.ts";
import type { EdgeDeps } from "../../../deps.ts";
import { idParams, pageQuery } from "../../../schemas/fields.ts";
import * as schemas from "../../../schemas/platform/training.ts";
import { type Operation, operation } from "../../middleware/operation.ts";
import { presentList, sent } from "../present.ts";
import { presentNode } from "./present-training.ts";

const tag = "Training";
const HEALTH_MS = 3000;

export function trainerNodeOperations(deps: EdgeDeps): Operation[] {
  const troubleOf = healthLook(deps.config);
  return [createNode(deps), listNodes(deps, troubleOf), getNode(deps, troubleOf), nodeHealth(deps, troubleOf), deleteNode(deps)];
}

type ShownNode = ReturnType<typeof presentNode>;
/** Why a node cannot be reached; null if it can. */
type TroubleOf = (node: ShownNode) => Promise<string | null>;

const createNode = ({ control }: EdgeDeps) =>
  operation({
    method: "post",
    path: "/training/nodes",
    summary: "Register a trainer node for a team",
    tag,
    auth: "user",
    apiKey: true,
    body: schemas.createNodeBody,
    status: 201,
    answer: schemas.nodeAnswer,
    handler: async ({ body: { name = "", url, teamId = "", token, secret } }, call) => {
      const { node } = await control.training.createNode({ name, url, teamId, token, secret }, call.write());
      return { node: presentNode(sent(node, "node")) };
    },
  });

const listNodes = ({ control, clock }: EdgeDeps, troubleOf: TroubleOf) =>
  operation({
    method: "get",
    path: "/training/nodes",
    summary: "List the trainer nodes of the caller's teams, with the results of calls to them",
    tag,
    auth: "user",
    apiKey: true,
    query: pageQuery,
    status: 200,
    answer: schemas.listNodesAnswer,
    handler: async ({ query }, call) => {
      const { nodes, meta } = await control.training.listNodes({ page: query }, call.read());
      const { data, ...rest } = presentList(nodes, meta, presentNode);
      return { ...rest, data: await Promise.all(data.map((node) => withStatus(node, { troubleOf, clock }))) };
    },
  });

const getNode = ({ control, clock }: EdgeDeps, troubleOf: TroubleOf) =>
  operation({
    method: "get",
    path: "/training/nodes/:id",
    summary: "Retrieve a trainer node",
    tag,
    auth: "user",
    apiKey: true,
    params: idParams,
    status: 200,
    answer: schemas.nodeAnswer,
    handler: async ({ params }, call) => {
      const { node } = await control.training.getNode({ id: params.id, withToken: false }, call.read());
      return { node: await withStatus(presentNode(sent(node, "node")), { troubleOf, clock }) };
    },
  });

const nodeHealth = ({ control, clock }: EdgeDeps, troubleOf: TroubleOf) =>
  operation({
    method: "get",
    path: "/training/nodes/:id/health",
    summary: "Check whether a trainer node responds now",
    tag,
    auth: "user",
    apiKey: true,
    params: idParams,
    status: 200,
    answer: schemas.nodeHealthAnswer,
    handler: async ({ params }, call) => {
      const { node } = await control.training.getNode({ id: params.id, withToken: false }, call.read());
      const shown = presentNode(sent(node, "node"));
      const begunMs = clock.monotonicMs();
      const error = await troubleOf(shown);
      return { node: shown, reachable: error === null, latencyMs: Math.round(clock.monotonicMs() - begunMs), error };
    },
  });

/** If private addresses are not allowed, names that resolve to one are refused, except for the operator's own nodes. */
function healthLook({ allowPrivateNodes }: EdgeDeps["config"]): TroubleOf {
  const tenants = guardedDispatcher(createGuard({ allowPrivate: allowPrivateNodes }), {});
  const own = guardedDispatcher(OPERATOR_GUARD, {});
  return async (node) => {
    try {
      const { origin, pathname } = new URL(`${node.url}/health`);
      const signal = AbortSignal.timeout(HEALTH_MS);
      const agent = node.teamId === null ? own : tenants;
      const { statusCode, body } = await agent.request({ origin, path: pathname, method: "GET", signal });
      await body.dump();
      // Another participant may have no /health; any response below 500 counts.
      return statusCode < 500 ? null : `it answered ${statusCode}`;
    } catch (thrown) {
      return `it cannot be reached: ${codeOf(thrown)}`;
    }
  };
}

const deleteNode = ({ control }: EdgeDeps) =>
  operation({
    method: "delete",
    path: "/training/nodes/:id",
    summary: "Delete a trainer node; federations that use it continue to",
    tag,
    auth: "user",
    apiKey: true,
    params: idParams,
    status: 200,
    answer: schemas.deletedNodeAnswer,
    handler: async ({ params }, call) => {
      await control.training.deleteNode(params, call.write());
      return { deleted: true as const, id: params.id };
    },
  });

/** Results of calls to the operator's nodes are not recorded, so their health is checked now. */
async function withStatus(node: ShownNode, { troubleOf, clock }: { troubleOf: TroubleOf; clock: EdgeDeps["clock"] }): Promise<ShownNode> {
  if (node.teamId !== null) return node;
  const lastError = await troubleOf(node);
  const isUp = lastError === null;
  return { ...node, status: isUp ? "up" : "down", lastSeenAt: isUp ? new Date(clock.now()) : null, lastError };
}

function codeOf(thrown: unknown): string {
  const { name, code, cause } = Object(thrown) as { name?: string; code?: unknown; cause?: { code?: string } };
  if (isPlaceRefused(thrown)) return "its address is private";
  return cause?.code ?? (typeof code === "string" ? code : undefined) ?? name ?? "unknown";
}
