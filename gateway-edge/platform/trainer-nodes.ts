import type { EdgeDeps } from "../deps.ts";
import { type Operation, operation } from "../middleware/operation.ts";
import { idParams, pageQuery } from "../schemas/fields.ts";
import * as schemas from "../schemas/training.ts";
import { presentList, sent } from "./present.ts";
import { presentNode } from "./present-training.ts";

const tag = "Training";
const HEALTH_MS = 3000;

export function trainerNodeOperations(deps: EdgeDeps): Operation[] {
  return [createNode(deps), listNodes(deps), getNode(deps), nodeHealth(deps), deleteNode(deps)];
}

const createNode = ({ control }: EdgeDeps) =>
  operation({
    method: "post",
    path: "/training/nodes",
    summary: "Make a trainer node known to a team",
    tag,
    auth: "user",
    apiKey: true,
    body: schemas.createNodeBody,
    status: 201,
    answer: schemas.nodeAnswer,
    handler: async ({ body: { name = "", url, teamId = "", token } }, call) => {
      const { node } = await control.training.createNode({ name, url, teamId, token }, call.write());
      return { node: presentNode(sent(node, "node")) };
    },
  });

const listNodes = ({ control }: EdgeDeps) =>
  operation({
    method: "get",
    path: "/training/nodes",
    summary: "The trainer nodes of the caller's teams, with what became of the calls to them",
    tag,
    auth: "user",
    apiKey: true,
    query: pageQuery,
    status: 200,
    answer: schemas.listNodesAnswer,
    handler: async ({ query }, call) => {
      const { nodes, meta } = await control.training.listNodes({ page: query }, call.read());
      const { data, ...rest } = presentList(nodes, meta, presentNode);
      return { ...rest, data: await Promise.all(data.map(withStatus)) };
    },
  });

const getNode = ({ control }: EdgeDeps) =>
  operation({
    method: "get",
    path: "/training/nodes/:id",
    summary: "A trainer node",
    tag,
    auth: "user",
    apiKey: true,
    params: idParams,
    status: 200,
    answer: schemas.nodeAnswer,
    handler: async ({ params }, call) => {
      const { node } = await control.training.getNode({ id: params.id, withToken: false }, call.read());
      return { node: await withStatus(presentNode(sent(node, "node"))) };
    },
  });

const nodeHealth = ({ control, clock }: EdgeDeps) =>
  operation({
    method: "get",
    path: "/training/nodes/:id/health",
    summary: "Whether a trainer node answers now",
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
      const error = await troubleOf(shown.url);
      return { node: shown, reachable: error === null, latencyMs: Math.round(clock.monotonicMs() - begunMs), error };
    },
  });

const deleteNode = ({ control }: EdgeDeps) =>
  operation({
    method: "delete",
    path: "/training/nodes/:id",
    summary: "Forget a trainer node; federations that have it go on with it",
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

/** Nobody writes down how calls to the operator's nodes went, for they are nobody's: they are asked. */
async function withStatus(node: ReturnType<typeof presentNode>): Promise<ReturnType<typeof presentNode>> {
  if (node.teamId !== null) return node;
  const lastError = await troubleOf(node.url);
  return { ...node, status: lastError === null ? "up" : "down", lastError };
}

function troubleOf(url: string): Promise<string | null> {
  return fetch(`${url}/health`, { signal: AbortSignal.timeout(HEALTH_MS), redirect: "error" }).then(
    // A participant of another make has no such page; that it answers is what counts.
    ({ status }) => (status < 500 ? null : `it answered ${status}`),
    (cause: unknown) => `it cannot be reached: ${codeOf(cause)}`,
  );
}

function codeOf(thrown: unknown): string {
  const { name, cause } = Object(thrown) as { name?: string; cause?: { code?: string } };
  return cause?.code ?? name ?? "unknown";
}
