import { json, type Request, type RequestHandler, Router } from "express";
import { z } from "zod";
import { FUNCTION_CALL_BYTES_MAX, SERVING_NODES_MAX } from "../../../common/training/trained-manifest.ts";
import { TrainerError } from "../../errors.ts";
import { parseWith } from "../../operations/schemas.ts";
import { type CallLimits, createCallLimits } from "./call-limits.ts";
import type { FunctionCalls } from "./function-calls.ts";

const PROBE_MS = 10_000;

const ids = z.array(z.string().min(1).max(100)).min(1).max(SERVING_NODES_MAX);
const serveRequest = z.strictObject({
  participants: ids,
  blob: z.string().regex(/^[0-9a-f]{64}$/),
  input: z.string(),
  config: z.record(z.string(), z.unknown()),
});
const serversRequest = z.strictObject({ participants: ids.optional() });

/** Whether a path is that of calls of a published model, which trainer nodes make. */
export const isServePath = (path: string): boolean => /^\/v1\/federations\/[^/]+\/serve$/.test(path);

/**
 * `POST /v1/federations/{id}/serve`: one call of a model that participants serve with their own function, for trainer nodes. `/servers`: which
 * participants can serve, for edges.
 */
export function serveRoutes({ serve, servers }: FunctionCalls, limits = createCallLimits()): Router {
  const router = Router();
  const body = json({ limit: FUNCTION_CALL_BYTES_MAX, inflate: false });
  router.post("/v1/federations/:id/serve", whileThereIsRoom(limits), body, async (request, response) => {
    const left = new AbortController();
    response.once("close", () => left.abort());
    const call = parseWith(serveRequest, request.body, "body");
    response.json({ output: await serve(idOf(request), call, left.signal) });
  });
  router.post("/v1/federations/:id/servers", json(), async (request, response) => {
    const { participants } = parseWith(serversRequest, request.body, "body");
    response.json(await servers(idOf(request), participants, AbortSignal.timeout(PROBE_MS)));
  });
  return router;
}

/** Admits a call before its body is read. One that does not name its size counts as the largest. */
function whileThereIsRoom(limits: CallLimits): RequestHandler {
  return (request, response, next) => {
    const bytes = Number(request.headers["content-length"] ?? FUNCTION_CALL_BYTES_MAX);
    if (bytes > FUNCTION_CALL_BYTES_MAX)
      throw new TrainerError("PAYLOAD_TOO_LARGE", `The body has more than ${FUNCTION_CALL_BYTES_MAX} bytes.`);
    response.once("close", limits.enter(idOf(request), bytes));
    next();
  };
}

const idOf = (request: Request): string => String(request.params["id"]);
