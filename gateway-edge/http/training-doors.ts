import type { IncomingMessage } from "node:http";
import { Router } from "express";
import { createProxyMiddleware } from "http-proxy-middleware";
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
}

/** `/training/nodes/{id}/...`: a team's trainer node behind the edge, as it is. */
export function trainingDoors({ control }: Pick<EdgeDeps, "control">): Router {
  const doors = new WeakMap<IncomingMessage, Door>();
  const doorOf = (request: IncomingMessage): Door => {
    const found = doors.get(request);
    if (!found) throw new Error("a call through a door that nobody opened");
    return found;
  };
  const forward = createProxyMiddleware({
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
        server.on("proxyReq", (sent, request) => {
          for (const name of OURS) sent.removeHeader(name);
          const { token } = doorOf(request);
          if (token !== undefined) sent.setHeader("authorization", `Bearer ${token}`);
        });
      },
    ],
  });
  const router = Router({ caseSensitive: true });
  router.all("/training/nodes/:id/*path", async (request, response, next) => {
    const options = { deadlineMs: LOOK_MS, metadata: callMetadata(request, response, userOrKeyToken(request)) };
    const { node } = await control.training.getNode({ id: request.params.id, withToken: true }, options);
    if (!node) throw new AppError("NOT_FOUND", "There is no such node.");
    const rest = request.originalUrl.slice(request.originalUrl.indexOf("/", "/training/nodes/".length));
    doors.set(request, { url: new URL(node.url), token: node.token, rest });
    await forward(request, response, (error) =>
      next(error && new AppError("UPSTREAM_UNAVAILABLE", "The trainer node cannot be reached.", { internal: String(error), cause: error })),
    );
  });
  return router;
}
