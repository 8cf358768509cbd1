import type { IncomingMessage, ServerResponse } from "node:http";
import type { Request, RequestHandler, Response } from "express";
import type { EdgeDeps } from "../../deps.ts";
import { crossOrigin } from "../middleware/security-headers.ts";
import { type Gate, type GatedRoute, logFailure, nameCall } from "./gate.ts";

interface ExactRoute {
  readonly path: string;
  readonly handler: RequestHandler;
}

/** Answers what is one of them, and says whether it was. */
export type ExactRoutes = (request: IncomingMessage, response: ServerResponse) => boolean;

/** What the router finds in a path without parameters. */
const NO_PARAMS = Object.freeze({});

/**
 * Routes behind a gate for requests that name their path to the letter, found by one look into a table: to walk express's layers would
 * cost such a call more than its authentication. Whatever else comes (another method, a parameter in the path, a query, a slash too
 * many) is for express, whose router has the same routes and gives the same answers. Requests and responses must be the app's own.
 */
export function exactRoutes(deps: EdgeDeps, { routes, gate }: { routes: readonly GatedRoute[]; gate: Gate }): ExactRoutes {
  const byMethod = tableOf(routes);
  const log = logFailure(deps.logger);
  const { corsOrigins } = deps.config;
  const openToPages = corsOrigins.length > 0 ? crossOrigin(corsOrigins) : undefined;
  const fail = (error: unknown, request: Request, response: Response) =>
    log(error, request, response, (logged: unknown) => gate.onError(logged, request, response, nobody));
  return (incoming, outgoing) => {
    const route = byMethod.get(incoming.method ?? "")?.get(incoming.url ?? "");
    if (!route) return false;
    const [request, response] = [incoming as Request, outgoing as Response];
    // As express would have left them.
    request.res = response;
    request.params = NO_PARAMS;
    try {
      openToPages?.(request, response, nobody);
      nameCall(deps, request, response);
      const waits = gate.authenticate(request, response);
      const answered = waits ? waits.then(() => answer(route, request, response)) : answer(route, request, response);
      if (answered instanceof Promise) answered.catch((error: unknown) => fail(error, request, response));
    } catch (error) {
      fail(error, request, response);
    }
    return true;
  };
}

/** A gate words every error by itself, and no handler of these routes passes a call on. */
function nobody(): void {}

function answer({ path, handler }: ExactRoute, request: Request, response: Response): unknown {
  response.locals["route"] = path;
  return handler(request, response, nobody);
}

function tableOf(routes: readonly GatedRoute[]): ReadonlyMap<string, ReadonlyMap<string, ExactRoute>> {
  const byMethod = new Map<string, Map<string, ExactRoute>>();
  for (const { method, paths, handler } of routes) {
    const byPath = byMethod.get(method.toUpperCase()) ?? new Map<string, ExactRoute>();
    byMethod.set(method.toUpperCase(), byPath);
    for (const path of paths) if (!/[:*]/.test(path)) byPath.set(path, { path, handler });
  }
  return byMethod;
}
