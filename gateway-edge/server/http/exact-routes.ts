import type { IncomingMessage, ServerResponse } from "node:http";
import type { Request, Response } from "express";
import { gatewayErrorBody } from "../../calls/gateway-error.ts";
import type { HeaderList } from "../../calls/header-list.ts";
import type { EdgeDeps } from "../../deps.ts";
import { assignRequestId } from "../middleware/request-id.ts";
import { crossOrigin } from "../middleware/security-headers.ts";
import { assignCallId, type Gate, type GatedRoute, logFailure, overloaded } from "./gate.ts";

interface ExactRoute extends Pick<GatedRoute, "handler" | "makesCall"> {
  readonly path: string;
}

/** Answers a request if it matches a route; returns whether it did. */
export type ExactRoutes = (request: IncomingMessage, response: ServerResponse) => boolean;

/** `request.params` of a path without parameters. */
const NO_PARAMS = Object.freeze({});

/**
 * Gated routes that are found by their exact path in a table: express' layers would cost such a call more than its authentication. All
 * other requests (another method, a parameter in the path, a query, an extra slash) go to express, whose router has the same routes and
 * gives the same answers. Requests and responses must be instances of the app's own classes (own-objects.ts).
 */
export function exactRoutes(deps: EdgeDeps, { routes, gate }: { routes: readonly GatedRoute[]; gate: Gate }): ExactRoutes {
  const byMethod = tableOf(routes);
  const log = logFailure(deps.logger, gate.onRefused);
  const { corsOrigins } = deps.config;
  const allowOrigins = corsOrigins.length > 0 ? crossOrigin(corsOrigins) : undefined;
  const fail = (error: unknown, request: Request, response: Response) =>
    log(error, request, response, (logged: unknown) => gate.onError(logged, request, response, noNext));
  return (incoming, outgoing) => {
    const route = byMethod.get(incoming.method ?? "")?.get(incoming.url ?? "");
    if (!route) return false;
    const [request, response] = [incoming as Request, outgoing as Response];
    // As express sets them.
    request.res = response;
    request.params = NO_PARAMS;
    try {
      allowOrigins?.(request, response, noNext);
      const retryAfterSeconds = route.makesCall ? gate.overload?.refusal(request) : undefined;
      if (retryAfterSeconds !== undefined) {
        refuseAtOnce(deps, { request, response, retryAfterSeconds });
        return true;
      }
      assignCallId(deps, request, response);
      const waits = gate.authenticate(request, response);
      const answered = waits ? waits.then(() => answer(route, request, response)) : answer(route, request, response);
      if (answered instanceof Promise) answered.catch((error: unknown) => fail(error, request, response));
    } catch (error) {
      fail(error, request, response);
    }
    return true;
  };
}

const OVERLOADED = overloaded(1);
const OVERLOADED_BODY = JSON.stringify(gatewayErrorBody(OVERLOADED));
const OVERLOADED_HEADERS: HeaderList = [
  ...["content-type", "application/json; charset=utf-8", "content-length", String(Buffer.byteLength(OVERLOADED_BODY))],
  ...["x-content-type-options", "nosniff"],
];

/** As `fail` would answer the same error, but at a small part of its cost: each refusal takes time from the calls that are served. */
function refuseAtOnce(
  deps: EdgeDeps,
  { request, response, retryAfterSeconds }: { request: Request; response: Response; retryAfterSeconds: number },
): void {
  response.locals["route"] = "refused";
  response.locals["error"] = OVERLOADED;
  const callId = assignRequestId(request, response, deps);
  response.writeHead(503, [...OVERLOADED_HEADERS, "retry-after", String(retryAfterSeconds), "x-gw-call-id", callId]);
  response.end(OVERLOADED_BODY);
}

/** `next` is never needed: a gate answers all errors itself, and no handler of these routes passes a request on. */
function noNext(): void {}

function answer({ path, handler }: ExactRoute, request: Request, response: Response): unknown {
  response.locals["route"] = path;
  return handler(request, response, noNext);
}

function tableOf(routes: readonly GatedRoute[]): ReadonlyMap<string, ReadonlyMap<string, ExactRoute>> {
  const byMethod = new Map<string, Map<string, ExactRoute>>();
  for (const { method, paths, handler, makesCall } of routes) {
    const byPath = byMethod.get(method.toUpperCase()) ?? new Map<string, ExactRoute>();
    byMethod.set(method.toUpperCase(), byPath);
    for (const path of paths) if (!/[:*]/.test(path)) byPath.set(path, { path, handler, makesCall });
  }
  return byMethod;
}
