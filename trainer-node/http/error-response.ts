import type { ErrorRequestHandler } from "express";
import { toJson } from "../../common/json.ts";
import type { Logger } from "../../common/logger.ts";
import { asTrainerError, TrainerError } from "../errors.ts";
import { isOwner } from "./owner.ts";
import { requestIdOf } from "./request-id.ts";

/**
 * Converts every error to `{error, code, details?, request_id}`. Stacks and causes are written to the log only, and so are messages of
 * functions' exceptions unless the caller is the node's owner.
 */
export function errorResponse(logger: Logger, settings: Parameters<typeof isOwner>[1] = {}): ErrorRequestHandler {
  return (thrown, request, response, _next) => {
    const error = asTrainerError(isBadPath(thrown) ? BAD_PATH : thrown, "SERVER_ERROR");
    const requestId = requestIdOf(response);
    if (error.status >= 500) logger.warn({ requestId, code: error.code, message: error.message, internal: error.internal }, "call failed");
    if (response.headersSent || response.destroyed) {
      response.destroy();
      return;
    }
    if (error.retryAfterSeconds !== undefined) response.setHeader("Retry-After", String(error.retryAfterSeconds));
    const body = { ...error.shownTo({ isOwner: isOwner(request, settings) }), request_id: requestId };
    response.status(error.status).type("application/json").end(toJson(body));
  };
}

const BAD_PATH = new TrainerError("VALIDATION_ERROR", "The path has a percent sign that encodes no character.");

/** What the router throws for such a path. */
const isBadPath = (thrown: unknown): boolean => thrown instanceof URIError;
