import type { RequestHandler } from "express";
import type { TrainerDeps } from "../deps.ts";
import { setRequestId } from "./request-id.ts";

/** Sets `x-request-id` (the caller's if it is valid), and counts and logs every call when it ends. */
export function observe({ clock, random, metrics, logger }: TrainerDeps, routes: ReadonlySet<string>): RequestHandler {
  return (request, response, next) => {
    const startedMs = clock.monotonicMs();
    const requestId = setRequestId(request, response, { clock, random });
    const path = request.path.replace(/\/$/, "").toLowerCase();
    // Unknown paths must not become metric labels, and jobs and blobs must not become one each.
    const route = routes.has(path) ? path : (path.match(/^\/v1\/(jobs|blobs|rounds|secure|serve)(?=\/)/)?.[0] ?? "other");
    response.once("close", () => {
      const durationMs = clock.monotonicMs() - startedMs;
      // As in nginx, 499 means that the client disconnected before the answer.
      const status = response.writableFinished ? response.statusCode : 499;
      metrics.countCall({ route, status, seconds: durationMs / 1000 });
      logger.info({ requestId, method: request.method, route, status, durationMs: Math.round(durationMs) }, "call");
    });
    next();
  };
}
