import type { IncomingMessage } from "node:http";
import { Agent } from "node:https";
import { type Request, type Response, Router } from "express";
import { z } from "zod";
import { AppError } from "../../../../common/errors.ts";
import { type PeerTls, serverOf } from "../../../../common/peers/tls.ts";
import { CAPABILITIES_HEADER } from "../../../../common/training/capabilities.ts";
import { holderAddress } from "../../../access/clients/coordinator.ts";
import type { EdgeDeps } from "../../../deps.ts";
import type { OperationDescription } from "../../../schemas/operation-description.ts";
import { callMetadata } from "../../middleware/authenticate-user.ts";
import { joinTokenOf } from "./enrollment.ts";
import { createForward, type ForwardOptions } from "./forward.ts";

const LOOK_MS = 5000;
const CALL_MS_MAX = 600_000;

interface Joined {
  /** Federation and participant. */
  readonly place: string;
  readonly organizationId: string;
  /** Whether the blob of the path is recorded as the federation's result or the participant's update. */
  readonly namesBlob: boolean;
}

/** Which coordinator a call goes to. */
interface AddressedTarget extends JoinedTarget {
  readonly address: string;
}

interface JoinedTarget {
  readonly path: string;
  /** The organization that the call counts for. */
  readonly tenant?: string;
}

/**
 * Routes for a participant that cannot be called: with its join token it polls for tasks, fetches the parameters that they name and uploads
 * results. The edge checks the token and forwards to the coordinator.
 */
export function joinedParticipants({ control, config }: Pick<EdgeDeps, "control" | "config">): Router {
  const targets = new WeakMap<IncomingMessage, AddressedTarget>();
  const options: ForwardOptions = {
    target: config.coordinatorUrl,
    router: (request) => targets.get(request)?.address ?? config.coordinatorUrl,
    proxyTimeout: CALL_MS_MAX,
    pathRewrite: (_path, request) => targets.get(request)?.path ?? "/",
    onSend: (sent, request) => {
      // Replaces the participant's join token by the edge's own token for the coordinator.
      sent.removeHeader("authorization");
      sent.removeHeader("x-gw-tenant");
      const { tenant = "" } = targets.get(request) ?? {};
      if (tenant !== "") sent.setHeader("x-gw-tenant", tenant);
      if (config.coordinatorToken !== undefined) sent.setHeader("authorization", `Bearer ${config.coordinatorToken}`);
    },
  };
  const plain = createForward(options);
  const secure = config.tls ? createForward({ ...options, agent: coordinatorAgent(config.tls) }) : plain;
  const pass = async (
    request: Request,
    response: Response,
    targetOf: (joined: Joined) => JoinedTarget,
    asked: { readonly capabilities?: string } = {},
  ): Promise<void> => {
    const token = joinTokenOf(request);
    const look = { deadlineMs: LOOK_MS, metadata: callMetadata(request, response) };
    const { sha256: blob = "" } = request.params;
    const joined = await control.training.joinFederation({ token, blob: String(blob), ...asked }, look);
    const { federationId, participantId, organizationId, namesBlob } = joined;
    // The participant's work is in the memory of the coordinator that holds the federation.
    const address = holderAddress(config, joined.holder);
    targets.set(request, { ...targetOf({ place: `${federationId}/${participantId}`, organizationId, namesBlob }), address });
    const forward = address.startsWith("https:") ? secure : plain;
    await forward(request, response).catch((cause: unknown) => {
      throw new AppError("UPSTREAM_UNAVAILABLE", "The coordinator cannot be reached; try again later.", { internal: String(cause), cause });
    });
  };
  const name = (value: unknown) => encodeURIComponent(String(value));
  const router = Router({ caseSensitive: true });
  router.get("/training/join/tasks", (request, response) =>
    pass(request, response, ({ place }) => ({ path: `/v1/tasks/${place}` }), { capabilities: request.get(CAPABILITIES_HEADER) ?? "" }),
  );
  router.post("/training/join/tasks/:task", (request, response) =>
    // The update counts for the federation's organization.
    pass(request, response, ({ place, organizationId: tenant }) => ({ path: `/v1/tasks/${place}/${name(request.params.task)}`, tenant })),
  );
  router.post("/training/join/tasks/:task/progress", (request, response) =>
    pass(request, response, ({ place }) => ({ path: `/v1/tasks/${place}/${name(request.params.task)}/progress` })),
  );
  router.get("/training/join/blobs/:sha256", (request, response) =>
    // The control plane knows what the federation's rounds recorded, the coordinator what the participant's current task names.
    pass(request, response, ({ place, namesBlob }) => ({
      path: `/v1/${namesBlob ? "" : `tasks/${place}/`}blobs/${name(request.params.sha256)}`,
    })),
  );
  return router;
}

function coordinatorAgent({ cert, key, ca }: PeerTls): Agent {
  return new Agent({ cert, key, ca, checkServerIdentity: serverOf("coordinator"), keepAlive: true });
}

const shared = { tags: ["Training"], auth: "none" } as const;

export const joinedDescriptions: readonly OperationDescription[] = [
  {
    ...shared,
    method: "get",
    path: "/training/join/tasks",
    summary: "With a join token: get the next task; waits up to 20 seconds, then 204. X-Capabilities has what the participant declares",
    responses: {
      200: { description: "The task.", schema: z.object({ task: z.looseObject({ id: z.string() }) }) },
      204: { description: "There is no task." },
    },
  },
  {
    ...shared,
    method: "post",
    path: "/training/join/tasks/:task",
    summary: "With a join token: upload the result of a task, with parameters as octets and the other fields as JSON in X-Result",
    params: z.object({ task: z.string() }),
    responses: { 200: { description: "The result was accepted.", schema: z.object({ accepted: z.boolean() }) } },
  },
  {
    ...shared,
    method: "post",
    path: "/training/join/tasks/:task/progress",
    summary: "With a join token: report how much of a task is done, from 0 to 1 in X-Progress. The running round shows it",
    params: z.object({ task: z.string() }),
    responses: {
      200: { description: "`wanted` is false while no round waits for the result.", schema: z.object({ wanted: z.boolean() }) },
    },
  },
  {
    ...shared,
    method: "get",
    path: "/training/join/blobs/:sha256",
    summary: "With a join token: download parameters that a task names, results of the federation and own updates, by their SHA-256",
    params: z.object({ sha256: z.string() }),
    responses: { 200: { description: "The bytes.", contentType: "application/octet-stream", schema: z.string() } },
  },
];
