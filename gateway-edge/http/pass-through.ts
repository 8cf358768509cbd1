import type { RequestHandler } from "express";
import { callerOf } from "../middleware/authenticate-key.ts";
import type { PassThrough } from "../pass-through/pass-through.ts";
import { UPSTREAM_ROWS } from "../pass-through/upstreams.ts";
import type { GatedRoute } from "./gate.ts";

const METHODS = ["get", "post", "put", "patch", "delete"] as const;

/** `/{provider}/*`: the provider's own API. What lies under /openai/deployments is ours, whether it exists or not. */
export function passThroughRoutes(passThrough: PassThrough): GatedRoute[] {
  return UPSTREAM_ROWS.flatMap(({ kind }) =>
    METHODS.map((method) => ({ method, paths: [`/${kind}/*path`], handler: passHandler(passThrough, kind) })),
  );
}

function passHandler(passThrough: PassThrough, kind: string): RequestHandler {
  return async (request, response, next) => {
    if (kind === "openai" && request.path.startsWith("/openai/deployments/")) return next();
    await passThrough.handle(kind, { request, response, callId: String(response.locals["callId"]), caller: callerOf(response) });
  };
}
