import type { RequestHandler } from "express";
import { z } from "zod";
import type { PassThrough } from "../../../calls/pass-through/pass-through.ts";
import { UPSTREAM_ROWS } from "../../../calls/pass-through/upstreams.ts";
import type { OperationDescription } from "../../../schemas/operation-description.ts";
import { callerOf } from "../../middleware/authenticate-key.ts";
import type { GatedRoute } from "../gate.ts";

const METHODS = ["get", "post", "put", "patch", "delete"] as const;

/** `/{provider}/*`: the provider's own API. Paths under /openai/deployments always belong to the gateway. */
export function passThroughRoutes(passThrough: PassThrough): GatedRoute[] {
  return UPSTREAM_ROWS.flatMap(({ kind }) =>
    METHODS.map((method) => ({
      method,
      paths: [`/${kind}/*path`],
      // What other methods do to a provider's objects costs little.
      makesCall: method === "post",
      handler: passHandler(passThrough, kind),
    })),
  );
}

/** One OpenAPI entry for all providers, whose own documentation describes their responses. */
export function describePassThrough(): OperationDescription[] {
  const [first = "", ...others] = UPSTREAM_ROWS.map(({ kind }) => kind);
  return METHODS.map((method) => ({
    method,
    path: "/:provider/*path",
    summary: "Call a provider's own API with a key of the gateway",
    tags: ["Pass-through"],
    auth: "key",
    params: z.object({ provider: z.enum([first, ...others]), path: z.string() }),
    responses: { 200: { description: "The provider's response, unchanged." } },
  }));
}

function passHandler(passThrough: PassThrough, kind: string): RequestHandler {
  return async (request, response, next) => {
    if (kind === "openai" && request.path.startsWith("/openai/deployments/")) return next();
    await passThrough.handle(kind, { request, response, callId: String(response.locals["callId"]), caller: callerOf(response) });
  };
}
