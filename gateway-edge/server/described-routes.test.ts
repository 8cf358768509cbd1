import type { Router } from "express";
import { systemClock } from "../../common/clock.ts";
import { silentLogger } from "../../common/logger.ts";
import { systemRandom } from "../../common/random.ts";
import { createApp } from "../app.ts";
import { OpenCalls } from "../calls/open-calls.ts";
import { UPSTREAM_ROWS } from "../calls/pass-through/upstreams.ts";
import { readEdgeConfig } from "../config.ts";
import { ResponseFeed } from "../stored/responses/response-feed.ts";
import { inferenceOperations, inferenceRouter } from "./http/routes.ts";
import { startEdge, type TestEdge } from "./http/testing/edge-fixture.ts";
import { type Listener, listen } from "./listen.ts";
import { fakeControlPlane } from "./platform/control-plane-fixture.ts";
import { createMetrics } from "./platform/metrics.ts";

let edge: TestEdge;
let listener: Listener;
let served: Set<string>;
let described: Set<string>;

beforeAll(async () => {
  edge = await startEdge();
  const { inference, worker, runs, control } = edge;
  const deps = {
    config: readEdgeConfig({}),
    control: fakeControlPlane({}).control,
    records: control.records,
    clock: systemClock,
    random: systemRandom,
    openCalls: new OpenCalls(),
    logger: silentLogger,
  };
  const metrics = createMetrics({ clock: systemClock, edgeIndex: 0 });
  const app = createApp(deps, {
    inferenceRoutes: inferenceRouter(deps, { inference, worker, runs, feed: new ResponseFeed(), authProfile: "gateway" }),
    inferenceOperations,
    gateway: inference,
    messagesHandler: (_request, response) => void response.end(),
    isMasterKey: () => false,
    ready: () => true,
    metrics,
  });
  served = routesOf(app.router);
  listener = await listen(app, { host: "127.0.0.1", port: 0, reusePort: false, observe: metrics.observe });
  const { paths } = (await (await fetch(`http://127.0.0.1:${listener.port}/openapi.json`)).json()) as {
    paths: Record<string, Record<string, unknown>>;
  };
  described = new Set(Object.entries(paths).flatMap(([path, methods]) => Object.keys(methods).map((method) => `${method} ${path}`)));
});
afterAll(async () => {
  await listener.stop();
  await edge.close();
});

/** Files of the console, and the way to it. */
const PAGES = ["get /", "get /ui"];

test("whatever the edge serves is in /openapi.json", () => {
  expect(served.size).toBeGreaterThan(200);
  expect([...served].filter((route) => !described.has(route) && !PAGES.includes(route)).sort()).toEqual([]);
});

test("whatever is in /openapi.json is served", () => {
  expect([...described].filter((route) => !served.has(route)).sort()).toEqual([]);
});

interface Layer {
  readonly route?: { readonly path: string | readonly string[]; readonly stack: readonly { readonly method?: string }[] };
  readonly handle?: { readonly stack?: readonly Layer[] };
}

/** Every method and path that some router answers; a route for all methods refuses the others, except for the node proxy. */
function routesOf(router: Router): Set<string> {
  return new Set(routesUnder(router.stack as unknown as readonly Layer[]));
}

function routesUnder(layers: readonly Layer[]): string[] {
  return layers.flatMap(({ route, handle }) => {
    if (!route) return routesUnder(handle?.stack ?? []);
    return [route.path].flat().flatMap((path) => methodsOf(path, route).map((method) => `${method} ${written(path)}`));
  });
}

function methodsOf(path: string, route: Layer["route"]): string[] {
  if (path === "/training/nodes/:id/*path") return ["get", "post", "put", "patch", "delete"];
  return [...new Set(route?.stack.flatMap(({ method }) => (method === undefined ? [] : [method])))];
}

/** As OpenAPI writes it; the providers' own APIs are one entry, and so are both spellings of a model with slashes, encoded or as it is. */
function written(given: string): string {
  const path = given.replace("/:model/*modelRest/", "/:model/");
  const provider = /^\/([^/]+)\/\*path$/.exec(path)?.[1];
  const isProvider = UPSTREAM_ROWS.some(({ kind }) => kind === provider);
  return (isProvider ? "/:provider/*path" : path).replace(/[:*]([A-Za-z]\w*)/g, "{$1}");
}
