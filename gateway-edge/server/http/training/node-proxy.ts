import type { Agent, ClientRequest, IncomingMessage } from "node:http";
import { Router } from "express";
import { isPlaceRefused } from "../../../../common/checked-lookup.ts";
import { CREDENTIAL_HEADERS } from "../../../../common/credential-headers.ts";
import { AppError } from "../../../../common/errors.ts";
import { createGuard, type Guard, guardedAgents, OPERATOR_GUARD } from "../../../../common/outbound.ts";
import { sandboxAnswer } from "../../../calls/sandboxed-answer.ts";
import type { EdgeDeps } from "../../../deps.ts";
import { callMetadata, userOrKeyHeader } from "../../middleware/authenticate-user.ts";
import { requestIdOf } from "../../middleware/request-id.ts";
import { createForward, type Forward } from "./forward.ts";
import { restrictNodeAnswer } from "./node-answer.ts";
import { type SignedNodeCall, signNodeCall } from "./sign-node-call.ts";

const LOOK_MS = 5000;
/** A training call may take this long on one connection; longer work is an asynchronous job of the node. */
const WORK_MS_MAX = 3_600_000;
/** Headers that are not forwarded: credentials must not reach a tenant's node, and the caller must not set the proxy's own headers. */
const STRIPPED_HEADERS = [
  ...CREDENTIAL_HEADERS,
  "cookie",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-proto",
  "x-forwarded-prefix",
  "x-gw-tenant",
];

interface ProxyTarget {
  readonly url: URL;
  readonly token: string | undefined;
  /** The path and query after the prefix. */
  readonly rest: string;
  /** The node's path at this edge, sent as x-forwarded-prefix so that its own links work. */
  readonly prefix: string;
  /** The caller's organization, which a shared node uses to separate tenants. */
  readonly tenant: string | undefined;
  /** The id that this edge gave the request, or accepted: the node's own log has it too. */
  readonly requestId: string;
  /** Set if the node has a secret. */
  readonly signed: SignedNodeCall | undefined;
}

/**
 * The node proxy: `/training/nodes/{id}/...` forwards to a team's trainer node. The console's session cookie does not authenticate here,
 * and browsers get the response as data: a team's node must not act in the name of a user who opens a link to it.
 */
export function nodeProxy({ control, config, clock, random }: Pick<EdgeDeps, "control" | "config" | "clock" | "random">): Router {
  const signing = { clock, random, bodyBytesMax: config.jsonBodyBytesMax };
  const targets = new WeakMap<IncomingMessage, ProxyTarget>();
  const targetOf = (request: IncomingMessage): ProxyTarget => {
    const found = targets.get(request);
    if (!found) throw new Error("a proxied request without a target");
    return found;
  };
  const forwardWith = (agent: Agent): Forward =>
    createForward({
      agent,
      proxyTimeout: WORK_MS_MAX,
      router: (request) => targetOf(request).url.origin,
      pathRewrite: (_path, request) => pathAtNode(targetOf(request)),
      onSend: (sent, request) => authorizeCall(sent, targetOf(request)),
      onAnswer: (answer, request) => restrictNodeAnswer(answer, targetOf(request)),
    });
  const forwards = (guard: Guard) => {
    const agents = guardedAgents(guard, { keepAlive: true });
    return { "http:": forwardWith(agents["http:"]), "https:": forwardWith(agents["https:"]) };
  };
  const tenants = forwards(createGuard({ allowPrivate: config.allowPrivateNodes }));
  const own = forwards(OPERATOR_GUARD);
  const router = Router({ caseSensitive: true });
  router.all("/training/nodes/:id/*path", async (request, response) => {
    sandboxAnswer(response);
    const options = { deadlineMs: LOOK_MS, metadata: callMetadata(request, response, userOrKeyHeader(request)) };
    const { node, tenantId: tenant } = await control.training.getNode({ id: request.params.id, withToken: true }, options);
    if (!node) throw new AppError("NOT_FOUND", "The trainer node does not exist.");
    const rest = request.originalUrl.slice(request.originalUrl.indexOf("/", "/training/nodes/".length));
    const url = new URL(node.url);
    const prefix = `/training/nodes/${node.id}`;
    const { token, secret } = node;
    const path = pathAtNode({ url, rest });
    const signed = secret === undefined ? undefined : await signNodeCall(request, { secret, path, tenant }, signing);
    targets.set(request, { url, token, rest, prefix, tenant, requestId: requestIdOf(response), signed });
    try {
      await (node.teamId === "" ? own : tenants)[url.protocol === "https:" ? "https:" : "http:"](request, response);
    } catch (error) {
      throw unreachable(error);
    }
  });
  return router;
}

/** Replaces the caller's credentials by those of the node, and says for whom the call is made. */
function authorizeCall(sent: ClientRequest, { token, prefix, tenant, requestId, signed }: ProxyTarget): void {
  for (const name of STRIPPED_HEADERS) sent.removeHeader(name);
  sent.setHeader("x-forwarded-prefix", prefix);
  if (requestId !== "") sent.setHeader("x-request-id", requestId);
  if (tenant !== undefined) sent.setHeader("x-gw-tenant", tenant);
  if (token !== undefined) sent.setHeader("authorization", `Bearer ${token}`);
  for (const [name, value] of Object.entries(signed?.headers ?? {})) sent.setHeader(name, value);
  // A body that was read to be signed is written here; the request has nothing more to send.
  if (signed?.body?.length) sent.write(signed.body);
}

function pathAtNode({ url, rest }: Pick<ProxyTarget, "url" | "rest">): string {
  return url.pathname.replace(/\/$/, "") + rest;
}

function unreachable(error: unknown): AppError {
  const message = isPlaceRefused(error)
    ? "The trainer node has a private address, which is not allowed here."
    : "The trainer node cannot be reached.";
  return new AppError("UPSTREAM_UNAVAILABLE", message, { internal: String(error), cause: error });
}
