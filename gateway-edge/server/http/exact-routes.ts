import { gatewayErrorBody } from "../../calls/gateway-error.ts";
import type { HeaderList } from "../../calls/header-list.ts";
import type { CallRequest, CallResponse } from "../../calls/http-exchange.ts";
import type { EdgeDeps } from "../../deps.ts";
import { assignRequestId } from "../middleware/request-id.ts";
import { crossOrigin } from "../middleware/security-headers.ts";
import { assignCallId, type CallRoute, type Gate, logFailure, overloaded } from "./gate.ts";

interface ExactRoute extends Pick<CallRoute, "handler" | "makesCall"> {
  readonly path: string;
}

/** The table of these routes. */
export interface ExactRoutes {
  /** Paths of POST requests. */
  readonly paths: Iterable<string>;
  /** Answers a request if it matches a route; returns whether it did. */
  answer(request: CallRequest, response: CallResponse): boolean;
}

/** `request.params` of a path without parameters. */
const NO_PARAMS = Object.freeze({});

/**
 * Gated routes that are found by their exact path in a table: express' layers would cost such a call more than its authentication. All
 * other requests (another method, a parameter in the path, a query, an extra slash) go to express, whose router has the same routes and
 * gives the same answers. Requests and responses are those of call connections (server/http1), or instances of the app's own classes (own-objects.ts).
 */
export function exactRoutes(deps: EdgeDeps, { routes, gate }: { routes: readonly CallRoute[]; gate: Gate }): ExactRoutes {
  const byMethod = tableOf(routes);
  const log = logFailure(deps.logger, gate.onRefused);
  const { corsOrigins } = deps.config;
  const allowOrigins = corsOrigins.length > 0 ? crossOrigin(corsOrigins) : undefined;
  const fail = (error: unknown, request: CallRequest, response: CallResponse) =>
    log(error, request, response, (logged: unknown) => gate.onError(logged, request, response, noNext));
  const answerExact = (request: CallRequest, response: CallResponse) => {
    const route = byMethod.get(request.method)?.get(request.url);
    if (!route) return false;
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
  return { paths: byMethod.get("POST")?.keys() ?? [], answer: answerExact };
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
  { request, response, retryAfterSeconds }: { request: CallRequest; response: CallResponse; retryAfterSeconds: number },
): void {
  response.locals["route"] = "refused";
  response.locals["error"] = OVERLOADED;
  const callId = assignRequestId(request, response, deps);
  response.writeHead(503, [...OVERLOADED_HEADERS, "retry-after", String(retryAfterSeconds), "x-gw-call-id", callId]);
  response.end(OVERLOADED_BODY);
}

/** `next` is never needed: a gate answers all errors itself, and no handler of these routes passes a request on. */
function noNext(): void {}

function answer({ path, handler }: ExactRoute, request: CallRequest, response: CallResponse): unknown {
  response.locals["route"] = path;
  return handler(request, response);
}

function tableOf(routes: readonly CallRoute[]): ReadonlyMap<string, ReadonlyMap<string, ExactRoute>> {
  const byMethod = new Map<string, Map<string, ExactRoute>>();
  for (const { method, paths, handler, makesCall } of routes) {
    const byPath = byMethod.get(method.toUpperCase()) ?? new Map<string, ExactRoute>();
    byMethod.set(method.toUpperCase(), byPath);
    for (const path of paths) if (!/[:*]/.test(path)) byPath.set(path, { path, handler, makesCall });
  }
  return byMethod;
}
