import { type AgentOptions, Agent as HttpAgent, type IncomingMessage } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { Router } from "express";
import { createProxyMiddleware } from "http-proxy-middleware";
import { checkedLookup, isPlaceRefused, judgeLiteral, judgePlace } from "../../common/checked-lookup.ts";
import { AppError } from "../../common/errors.ts";
import type { EdgeDeps } from "../deps.ts";
import { callMetadata, userOrKeyToken } from "../middleware/authenticate-user.ts";

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
];

interface Door {
  readonly url: URL;
  readonly token: string | undefined;
  readonly rest: string;
  fail(error: unknown): void;
}

/** `/training/nodes/{id}/...`: a team's trainer node behind the edge, as it is. */
export function trainingDoors({ control, config }: Pick<EdgeDeps, "control" | "config">): Router {
  const judge = (host: string) => judgePlace(host, { allowPrivate: config.allowPrivateUpstreams });
  const doors = new WeakMap<IncomingMessage, Door>();
  const doorOf = (request: IncomingMessage): Door => {
    const found = doors.get(request);
    if (!found) throw new Error("a call through a door that nobody opened");
    return found;
  };
  const proxy = (agent: HttpAgent) =>
    createProxyMiddleware({
      agent,
      changeOrigin: true,
      proxyTimeout: WORK_MS_MAX,
      ejectPlugins: true,
      router: (request) => doorOf(request).url.origin,
      pathRewrite: (_path, request) => {
        const { url, rest } = doorOf(request);
        return url.pathname.replace(/\/$/, "") + rest;
      },
      plugins: [
        (server) => {
          // Some failures come as this event, some by `next`; one that nobody hears would be thrown, as a fault of ours.
          server.on("error", (error, request) => request && doors.get(request)?.fail(error));
          server.on("proxyReq", (sent, request) => {
            for (const name of OURS) sent.removeHeader(name);
            const { token } = doorOf(request);
            if (token !== undefined) sent.setHeader("authorization", `Bearer ${token}`);
          });
        },
      ],
    });
  const proxies = (options: AgentOptions) => ({ "http:": proxy(new HttpAgent(options)), "https:": proxy(new HttpsAgent(options)) });
  // The name is judged by what it leads to, with every connection; the operator's own nodes are where he put them.
  const checked = proxies({ lookup: checkedLookup(judge), keepAlive: true });
  const own = proxies({ keepAlive: true });
  const router = Router({ caseSensitive: true });
  router.all("/training/nodes/:id/*path", async (request, response, next) => {
    const options = { deadlineMs: LOOK_MS, metadata: callMetadata(request, response, userOrKeyToken(request)) };
    const { node } = await control.training.getNode({ id: request.params.id, withToken: true }, options);
    if (!node) throw new AppError("NOT_FOUND", "There is no such node.");
    const rest = request.originalUrl.slice(request.originalUrl.indexOf("/", "/training/nodes/".length));
    const url = new URL(node.url);
    const fail = (error: unknown) => next(unreachable(error));
    doors.set(request, { url, token: node.token, rest, fail: once(fail) });
    const isOwn = node.teamId === "";
    try {
      if (!isOwn) judgeLiteral(url, judge);
    } catch (error) {
      throw unreachable(error);
    }
    const forward = (isOwn ? own : checked)[url.protocol === "https:" ? "https:" : "http:"];
    await forward(request, response, (error) => doorOf(request).fail(error));
  });
  return router;
}

function once(fail: (error: unknown) => void): (error: unknown) => void {
  let failed = false;
  return (error) => {
    if (failed) return;
    failed = true;
    fail(error);
  };
}

function unreachable(error: unknown): AppError {
  const message = isPlaceRefused(error) ? "The trainer node's address is private." : "The trainer node cannot be reached.";
  return new AppError("UPSTREAM_UNAVAILABLE", message, { internal: String(error), cause: error });
}
