import type { NextFunction, Request, RequestHandler, Response } from "express";
import type { EdgeDeps } from "../deps.ts";
import { type Gate, type GatedRoute, logFailure, nameCall } from "./gate.ts";

interface ExactRoute {
  readonly path: string;
  readonly handler: RequestHandler;
}

/**
 * Routes behind a gate for requests that name their path to the letter, found by one look into a table: to walk express's layers would
 * cost such a call more than its authentication. Whatever else comes (another method, a parameter in the path, a query, a slash too
 * many) goes on to `others`, the router of the same routes, which gives the same answers.
 */
export function exactRoutes(
  deps: EdgeDeps,
  { routes, gate, others }: { routes: readonly GatedRoute[]; gate: Gate; others: RequestHandler },
): RequestHandler {
  const byMethod = tableOf(routes);
  const log = logFailure(deps.logger);
  const fail = (error: unknown, request: Request, response: Response, next: NextFunction) =>
    log(error, request, response, (logged: unknown) => gate.onError(logged, request, response, next));
  return (request, response, next) => {
    const route = byMethod.get(request.method)?.get(request.url);
    if (!route) return others(request, response, next);
    try {
      nameCall(deps, request, response);
      const waits = gate.authenticate(request, response);
      const answered = waits ? waits.then(() => answer(route, request, response, next)) : answer(route, request, response, next);
      if (answered instanceof Promise) answered.catch((error: unknown) => fail(error, request, response, next));
    } catch (error) {
      fail(error, request, response, next);
    }
  };
}

function answer({ path, handler }: ExactRoute, request: Request, response: Response, next: NextFunction): unknown {
  response.locals["route"] = path;
  return handler(request, response, next);
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
