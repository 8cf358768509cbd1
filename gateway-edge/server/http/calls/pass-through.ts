import type { RequestHandler } from "express";
import { z } from "zod";
import type { PassThrough } from "../../../calls/pass-through/pass-through.ts";
import { UPSTREAM_ROWS } from "../../../calls/pass-through/upstreams.ts";
import type { OperationDescription } from "../../../schemas/operation-description.ts";
import { callerOf } from "../../middleware/authenticate-key.ts";
import type { GatedRoute } from "../gate.ts";

const METHODS = ["get", "post", "put", "patch", "delete"] as const;

/** `/{provider}/*`: the provider's own API. What lies under /openai/deployments is ours, whether it exists or not. */
export function passThroughRoutes(passThrough: PassThrough): GatedRoute[] {
  return UPSTREAM_ROWS.flatMap(({ kind }) =>
    METHODS.map((method) => ({ method, paths: [`/${kind}/*path`], handler: passHandler(passThrough, kind) })),
  );
}

/** One entry for all providers: what they answer is theirs to describe. */
export function describePassThrough(): OperationDescription[] {
  const [first = "", ...others] = UPSTREAM_ROWS.map(({ kind }) => kind);
  return METHODS.map((method) => ({
    method,
    path: "/:provider/*path",
    summary: "A provider's own API, with the gateway's key in place of the provider's",
    tags: ["Pass-through"],
    auth: "key",
    params: z.object({ provider: z.enum([first, ...others]), path: z.string() }),
    responses: { 200: { description: "What the provider answered, as it is." } },
  }));
}

function passHandler(passThrough: PassThrough, kind: string): RequestHandler {
  return async (request, response, next) => {
    if (kind === "openai" && request.path.startsWith("/openai/deployments/")) return next();
    await passThrough.handle(kind, { request, response, callId: String(response.locals["callId"]), caller: callerOf(response) });
  };
}
