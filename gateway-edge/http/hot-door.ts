import type { RequestListener } from "node:http";
import express, { type ErrorRequestHandler, type NextFunction, type Request, type Response } from "express";
import type { Caller } from "../../proto/gen/tributary/access/v1/access.ts";
import type { GatedRoute } from "./gate.ts";

export interface HotDoor {
  readonly routes: readonly GatedRoute[];
  /** Names the call, as the gate of all other routes does. */
  readonly name: (request: Request, response: Response) => void;
  readonly authenticate: (request: Request) => Caller | Promise<Caller>;
  readonly onError: readonly ErrorRequestHandler[];
}

/**
 * Answers the paths that are called all day without express, which costs such a call about as much as its price, its reservation and its
 * journal together. Only a request that names such a path to the letter comes through here: all that is unusual goes through express,
 * and so does every error.
 */
export function hotDoor({ routes, name, authenticate, onError }: HotDoor, app: RequestListener): RequestListener {
  const byPath = new Map(routes.flatMap((route) => plain(route.paths).map((path) => [path, route])));
  const failed = failureApp(onError);

  async function serve(request: Request, response: Response, handler: GatedRoute["handler"]): Promise<void> {
    try {
      name(request, response);
      const caller = authenticate(request);
      response.locals["caller"] = caller instanceof Promise ? await caller : caller;
      response.locals["route"] = request.url;
      await handler(request, response, unexpected);
    } catch (thrown) {
      failed(request, response, thrown);
    }
  }

  return (request, response) => {
    const route = byPath.get(request.url ?? "");
    if (route && request.method === route.method.toUpperCase()) void serve(asRequest(request), asResponse(response), route.handler);
    else app(request, response);
  };
}

/** Paths without a part that has to be read. */
function plain(paths: readonly string[]): string[] {
  return paths.filter((path) => /^[\w/-]+$/.test(path));
}

/** What handlers use of an express request: no parameters and no query, or the path would be another. */
function asRequest(request: object): Request {
  return Object.assign(request, { params: {}, query: {} }) as unknown as Request;
}

function asResponse(response: object): Response {
  return Object.assign(response, { locals: {} }) as unknown as Response;
}

const unexpected: NextFunction = () => {
  throw new Error("a hot route passed its request on");
};

function failureApp(onError: readonly ErrorRequestHandler[]) {
  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  app.use((_request: Request, response: Response, next: NextFunction) => next(response.locals["thrown"]), ...onError);
  return (request: Request, response: Response, thrown: unknown) => {
    response.locals["thrown"] = thrown;
    app(request, response);
  };
}
