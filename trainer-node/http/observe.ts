import type { RequestHandler } from "express";
import type { TrainerDeps } from "../deps.ts";
import { setRequestId } from "./request-id.ts";

/** Gives each answer its `x-request-id` (the caller's own when sane), and counts and logs the call once it has ended, however it ended. */
export function observe({ clock, random, metrics, logger }: TrainerDeps, routes: ReadonlySet<string>): RequestHandler {
  return (request, response, next) => {
    const startedMs = clock.monotonicMs();
    const requestId = setRequestId(request, response, { clock, random });
    const path = request.path.replace(/\/$/, "").toLowerCase();
    // Paths of strangers must not become time series, nor every job and blob one.
    const route = routes.has(path) ? path : (path.match(/^\/v1\/(jobs|blobs|rounds|secure|serve)(?=\/)/)?.[0] ?? "other");
    response.once("close", () => {
      const durationMs = clock.monotonicMs() - startedMs;
      // 499 as nginx has it: the caller left before the answer.
      const status = response.writableFinished ? response.statusCode : 499;
      metrics.countCall({ route, status, seconds: durationMs / 1000 });
      logger.info({ requestId, method: request.method, route, status, durationMs: Math.round(durationMs) }, "call");
    });
    next();
  };
}
