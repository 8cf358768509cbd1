import type { RequestHandler } from "express";
import type { Clock } from "../../../common/clock.ts";
import type { Logger } from "../../../common/logger.ts";
import { requestIdOf } from "./request-id.ts";

/** Logs one line per response. Only the path is logged, because a query may contain a key. */
export function accessLog({ logger, clock }: { logger: Logger; clock: Clock }): RequestHandler {
  return (request, response, next) => {
    const startedMs = clock.monotonicMs();
    const { method, path } = request;
    response.on("close", () => {
      const durationMs = Math.round((clock.monotonicMs() - startedMs) * 10) / 10;
      const status = response.writableFinished ? response.statusCode : 499;
      logger.debug({ requestId: requestIdOf(response), method, path: path.slice(0, 200), status, durationMs }, "answered");
    });
    next();
  };
}
