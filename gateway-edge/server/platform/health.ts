import type { IncomingMessage } from "node:http";
import { type Request, type Response, Router } from "express";
import type { EdgeDeps } from "../../deps.ts";
import { callMetadata, requireAdmin, userOrKeyToken } from "../middleware/authenticate-user.ts";
import { requestIdOf } from "../middleware/request-id.ts";
import type { Metrics } from "./metrics.ts";

const ADMIN_DEADLINE_MS = 5000;
const LOOPBACK = new Set(["127.0.0.1", "::1", "::ffff:127.0.0.1"]);

export interface HealthParts {
  /** Whether calls can be served: the control plane is connected and the edge is not stopping. */
  ready(): boolean;
  /** Compares in constant time. */
  isMasterKey(sha256: Buffer): boolean;
  metrics: Metrics;
}

export function healthRoutes(deps: EdgeDeps, parts: HealthParts): Router {
  const router = Router({ caseSensitive: true });
  const startedMs = deps.clock.monotonicMs();
  router.use(["/health", "/metrics"], (_request, response, next) => {
    // As in errors of requests that make no call.
    response.setHeader("x-gw-call-id", requestIdOf(response));
    next();
  });
  router.get(["/health/liveliness", "/health/liveness"], (_request, response) => {
    response.json({ status: "ok" });
  });
  router.get("/health/readiness", (_request, response) => {
    const ready = parts.ready();
    response.status(ready ? 200 : 503).json({ status: ready ? "ready" : "not ready", controlPlane: ready ? "connected" : "unknown" });
  });
  router.get("/health", async (request, response) => {
    await requireOperator(request, response, { deps, parts });
    response.json({
      status: parts.ready() ? "ready" : "not ready",
      edge: deps.config.edgeIndex,
      uptimeSeconds: Math.round((deps.clock.monotonicMs() - startedMs) / 1000),
      memoryBytes: process.memoryUsage.rss(),
      node: process.version,
    });
  });
  router.get("/metrics", async (request, response) => {
    if (!isLocal(request)) await requireOperator(request, response, { deps, parts });
    parts.metrics.addProcess();
    response.setHeader("content-type", parts.metrics.registry.contentType);
    response.end(await parts.metrics.registry.metrics());
  });
  return router;
}

/** Whether a request comes from this machine and was not forwarded by a proxy on it. */
function isLocal(request: IncomingMessage): boolean {
  const passedOn = request.headers["x-forwarded-for"] !== undefined || request.headers["forwarded"] !== undefined;
  return !passedOn && LOOPBACK.has(request.socket.remoteAddress ?? "");
}

/**
 * Requires the master key or the token of a platform admin. A master key that was generated at the first start is known only to the control
 * plane.
 */
async function requireOperator(
  request: Request,
  response: Response,
  { deps, parts }: { deps: EdgeDeps; parts: HealthParts },
): Promise<void> {
  const token = userOrKeyToken(request);
  const keySha256 = /^key-sha256 ([0-9a-f]{64})$/.exec(token)?.[1];
  if (keySha256 !== undefined && parts.isMasterKey(Buffer.from(keySha256, "hex"))) return;
  await requireAdmin(deps.control, { deadlineMs: ADMIN_DEADLINE_MS, metadata: callMetadata(request, response, token) });
}
