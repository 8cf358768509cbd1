import { type AgentOptions, Agent as HttpAgent, type IncomingMessage } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { Router } from "express";
import { checkedLookup, isPlaceRefused, judgeLiteral, judgePlace } from "../../../../common/checked-lookup.ts";
import { AppError } from "../../../../common/errors.ts";
import type { EdgeDeps } from "../../../deps.ts";
import { callMetadata, userOrKeyHeader } from "../../middleware/authenticate-user.ts";
import { createForward, type Forward } from "./forward.ts";
import { restrictNodeAnswer, sandboxAnswer } from "./node-answer.ts";

const LOOK_MS = 5000;
/** A round's training may take this long on one connection; longer work is a job of the node. */
const WORK_MS_MAX = 3_600_000;
/** What opens our doors must not reach a node that somebody else runs, and what is between us and it is not the caller's to say. */
const OURS = [
  "authorization",
  "x-gw-api-key",
  "x-api-key",
  "api-key",
  "cookie",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-proto",
  "x-forwarded-prefix",
  "x-gw-tenant",
];

interface Door {
  readonly url: URL;
  readonly token: string | undefined;
  readonly rest: string;
  /** The node's address at this edge, so that what it says of its own paths can be followed. */
  readonly prefix: string;
  /** The organization that calls: a node that several share keeps them apart by it. */
  readonly tenant: string | undefined;
}

/**
 * `/training/nodes/{id}/...`: a team's trainer node behind the edge. The console's session cookie does not authenticate here, and the
 * node's answer is data to a browser: a team's node must not act in the name of a person who opens a link to it.
 */
export function trainingDoors({ control, config }: Pick<EdgeDeps, "control" | "config">): Router {
  const judge = (host: string) => judgePlace(host, { allowPrivate: config.allowPrivateNodes });
  const doors = new WeakMap<IncomingMessage, Door>();
  const doorOf = (request: IncomingMessage): Door => {
    const found = doors.get(request);
    if (!found) throw new Error("a call through a door that nobody opened");
    return found;
  };
  const through = (agent: HttpAgent): Forward =>
    createForward({
      agent,
      proxyTimeout: WORK_MS_MAX,
      router: (request) => doorOf(request).url.origin,
      pathRewrite: (_path, request) => {
        const { url, rest } = doorOf(request);
        return url.pathname.replace(/\/$/, "") + rest;
      },
      onSend: (sent, request) => {
        for (const name of OURS) sent.removeHeader(name);
        const { token, prefix, tenant } = doorOf(request);
        sent.setHeader("x-forwarded-prefix", prefix);
        if (tenant !== undefined) sent.setHeader("x-gw-tenant", tenant);
        if (token !== undefined) sent.setHeader("authorization", `Bearer ${token}`);
      },
      onAnswer: (answer, request) => restrictNodeAnswer(answer, doorOf(request)),
    });
  const agents = (options: AgentOptions) => ({ "http:": through(new HttpAgent(options)), "https:": through(new HttpsAgent(options)) });
  // The name is judged by what it leads to, with every connection; the operator's own nodes are where he put them.
  const checked = agents({ lookup: checkedLookup(judge), keepAlive: true });
  const own = agents({ keepAlive: true });
  const router = Router({ caseSensitive: true });
  router.all("/training/nodes/:id/*path", async (request, response) => {
    sandboxAnswer(response);
    const options = { deadlineMs: LOOK_MS, metadata: callMetadata(request, response, userOrKeyHeader(request)) };
    const { node, tenantId: tenant } = await control.training.getNode({ id: request.params.id, withToken: true }, options);
    if (!node) throw new AppError("NOT_FOUND", "There is no such node.");
    const rest = request.originalUrl.slice(request.originalUrl.indexOf("/", "/training/nodes/".length));
    const url = new URL(node.url);
    const isOwn = node.teamId === "";
    const prefix = `/training/nodes/${node.id}`;
    doors.set(request, { url, token: node.token, rest, prefix, tenant });
    try {
      if (!isOwn) judgeLiteral(url, judge);
      await (isOwn ? own : checked)[url.protocol === "https:" ? "https:" : "http:"](request, response);
    } catch (error) {
      throw unreachable(error);
    }
  });
  return router;
}

function unreachable(error: unknown): AppError {
  const message = isPlaceRefused(error) ? "The trainer node's address is private." : "The trainer node cannot be reached.";
  return new AppError("UPSTREAM_UNAVAILABLE", message, { internal: String(error), cause: error });
}
