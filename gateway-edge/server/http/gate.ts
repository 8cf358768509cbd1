import { type ErrorRequestHandler, type RequestHandler, Router } from "express";
import { AppError } from "../../../common/errors.ts";
import { newId } from "../../../common/ids.ts";
import type { Logger } from "../../../common/logger.ts";
import { type CallErrorHandler, gatewayErrorOf } from "../../calls/gateway-error.ts";
import type { CallRequest, CallResponse } from "../../calls/http-exchange.ts";
import type { EdgeDeps } from "../../deps.ts";
import { assignRequestId, requestIdOf } from "../middleware/request-id.ts";
import type { OverloadGate } from "../overload/overload-gate.ts";
import { setEarly } from "../own-objects.ts";

/** A route behind a gate. */
export interface GatedRoute {
  readonly method: "get" | "post" | "put" | "patch" | "delete";
  readonly paths: readonly string[];
  readonly handler: RequestHandler;
  /** Whether a request makes a call, which is refused in overload. What costs little or ends work, such as a cancellation, is not. */
  readonly makesCall?: boolean | undefined;
}

/** A gated route for every request whose body can be read, whether express or a call connection made it. */
export interface CallRoute extends GatedRoute {
  readonly handler: (request: CallRequest, response: CallResponse) => void | Promise<void>;
}

/** Authentication and error format that routes share. */
export interface Gate {
  /** Stores the caller in the response's locals; throws or rejects for an invalid key. */
  readonly authenticate: (request: CallRequest, response: CallResponse) => Promise<void> | undefined;
  /** Sends a thrown error in the API's error format. */
  readonly onError: CallErrorHandler;
  /** Refuses calls above the capacity of the edge, before they are authenticated; absent: none are. */
  readonly overload?: Pick<OverloadGate, "refusal"> | undefined;
  /** Called with every error of a request, before the response; absent: refusals of these routes are not logged as calls. */
  readonly onRefused?: ((error: AppError, request: CallRequest, response: CallResponse) => void) | undefined;
}

/**
 * Routes behind one gate, which assigns a call id, refuses other methods and authenticates before the body is read. Other paths pass
 * through unchanged.
 */
export function gatedRouter(deps: EdgeDeps, routes: readonly GatedRoute[], gate: Gate): Router {
  const router = Router({ caseSensitive: true });
  const allPaths = [...new Set(routes.flatMap(({ paths }) => paths))];
  router.all(allPaths, (request, response, next) => {
    assignCallId(deps, request, response);
    next();
  });
  for (const [paths, methods] of methodsByPaths(routes)) router.all(paths, refuseOtherMethods(methods));
  const { overload } = gate;
  const calls = routes.filter(({ makesCall }) => makesCall);
  if (overload) {
    for (const method of new Set(calls.map((route) => route.method))) {
      const paths = calls.filter((route) => route.method === method).flatMap((route) => route.paths);
      router[method](paths, (request, _response, next) => {
        const retryAfterSeconds = overload.refusal(request);
        if (retryAfterSeconds !== undefined) throw overloaded(retryAfterSeconds);
        next();
      });
    }
  }
  router.all(allPaths, (request, response, next) => {
    const waits = gate.authenticate(request, response);
    return waits ? waits.then(() => next()) : next();
  });
  for (const { method, paths, handler } of routes) for (const path of paths) router[method](path, setRoute(path), handler);
  router.use(...errorHandlers(deps, gate));
  return router;
}

/** Groups paths with the same methods into one express layer, because every layer costs each request that passes it. */
function methodsByPaths(routes: readonly GatedRoute[]): [paths: string[], methods: GatedRoute["method"][]][] {
  const byPath = new Map<string, GatedRoute["method"][]>();
  for (const { method, paths } of routes) for (const path of paths) byPath.set(path, [...(byPath.get(path) ?? []), method]);
  const byMethods = new Map<string, [string[], GatedRoute["method"][]]>();
  for (const [path, methods] of byPath) {
    const group = byMethods.get(methods.toSorted().join()) ?? [[], methods];
    group[0].push(path);
    byMethods.set(methods.toSorted().join(), group);
  }
  return [...byMethods.values()];
}

/** The error of a call that the edge has no capacity for. */
export function overloaded(retryAfterSeconds: number): AppError {
  const message = "The gateway has more calls than it can serve. Send the request again after the seconds in the retry-after header.";
  return new AppError("UNAVAILABLE", message, { retryAfterSeconds });
}

/** Sets the headers with request id and call id that every response has, errors included. */
export function assignCallId(deps: EdgeDeps, request: CallRequest, response: CallResponse): void {
  const callId = newId("call", deps);
  assignRequestId(request, response, deps, callId);
  response.locals["callId"] = callId;
  response.locals["route"] = "refused";
  setEarly(response, "x-gw-call-id", callId);
  if (deps.tracing) response.locals["traceId"] = deps.tracing.begin(callId, request, response);
  setEarly(response, "x-content-type-options", "nosniff");
}

function errorHandlers(deps: EdgeDeps, { onError, onRefused }: Gate): ErrorRequestHandler[] {
  return [identifyFailure(deps), logFailure(deps.logger, onRefused), onError];
}

/** A path that cannot be decoded fails while routes are matched, before its request has ids. */
function identifyFailure(deps: EdgeDeps): ErrorRequestHandler {
  return (thrown: unknown, request, response, next) => {
    if (response.locals["callId"] === undefined && !response.headersSent) assignCallId(deps, request, response);
    next(thrown);
  };
}

function setRoute(path: string): RequestHandler {
  return (_request, response, next) => {
    response.locals["route"] = path;
    next();
  };
}

function refuseOtherMethods(methods: readonly GatedRoute["method"][]): RequestHandler {
  const allowed = methods.flatMap((method) => (method === "get" ? ["GET", "HEAD"] : [method.toUpperCase()]));
  return (request, response, next) => {
    if (allowed.includes(request.method)) return next();
    response.setHeader("allow", [...allowed, "OPTIONS"].join(", "));
    if (request.method === "OPTIONS") {
      response.status(204).end();
      return;
    }
    throw new AppError("METHOD_NOT_ALLOWED", `${request.method} is not allowed here; use ${allowed.join(" or ")}.`);
  };
}

/** Logs an error and passes it to the next error handler. */
export function logFailure(logger: Logger, onRefused?: Gate["onRefused"]): CallErrorHandler {
  return (thrown: unknown, request, response, next) => {
    const error = gatewayErrorOf(thrown);
    onRefused?.(error, request, response);
    const fields = { requestId: requestIdOf(response), callId: response.locals["callId"], code: error.code, internal: error.internal };
    // A caller that disconnects while it sends its body is not an error of the server.
    if (error.code === "SERVER_ERROR" && !response.destroyed) logger.error(fields, error.message);
    else logger.debug(fields, error.message);
    next(error);
  };
}
