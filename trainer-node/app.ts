import { readFile } from "node:fs/promises";
import express, { type Express } from "express";
import { requireBlob } from "./coordinator/blobs/blob-folder.ts";
import { servableRoutes } from "./coordinator/blobs/servable-route.ts";
import type { ReadableBlobs } from "./coordinator/updates/inspect-blob.ts";
import type { TrainerDeps } from "./deps.ts";
import { TrainerError } from "./errors.ts";
import { requireAccess } from "./http/access.ts";
import { blobRoutes } from "./http/blobs.ts";
import { callRoutes } from "./http/calls.ts";
import { errorResponse } from "./http/error-response.ts";
import { healthRoutes, infoRoutes, readyRoutes } from "./http/info.ts";
import { jobRoutes } from "./http/jobs.ts";
import { observe } from "./http/observe.ts";
import { roundRoutes } from "./http/rounds.ts";
import { secureRoutes } from "./http/secure.ts";
import { serveRoutes } from "./http/serve.ts";
import { requireSignature } from "./http/signed-call.ts";
import { OPERATION_NAMES } from "./pool/messages.ts";

const KNOWN_ROUTES = new Set([
  "/health",
  "/ready",
  "/v1/info",
  "/metrics",
  ...OPERATION_NAMES.flatMap((name) => [`/${name}`, `/v1/${name}`]),
]);

/** The blobs of a tenant; none if this node stores none. */
const readableBlobs =
  (store: TrainerDeps["blobs"]) =>
  (tenant: string): ReadableBlobs => {
    const find: ReadableBlobs["find"] = async (sha256) => store?.find(sha256, tenant);
    return { find, read: async (sha256) => readFile((await requireBlob(find, sha256)).path) };
  };

/** The participant API. */
export function createApp(deps: TrainerDeps): Express {
  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  app.use(observe(deps, KNOWN_ROUTES));
  // Probes of an orchestrator come from other addresses and cannot sign, so these routes stand before the access check. They reveal nothing
  // about models or data.
  app.use(healthRoutes());
  app.use(readyRoutes(deps));
  app.use(requireAccess(deps.settings));
  app.use(requireSignature(deps));
  app.use(serveRoutes(deps));
  app.use(callRoutes(deps));
  app.use(secureRoutes(deps));
  app.use(jobRoutes(deps));
  app.use(blobRoutes(deps));
  app.use(servableRoutes(readableBlobs(deps.blobs)));
  app.use(roundRoutes(deps));
  app.use(infoRoutes(deps));
  app.use((request) => {
    throw new TrainerError("NOT_FOUND", `There is no route ${request.path.slice(0, 200)}. GET /v1/info describes this node.`);
  });
  app.use(errorResponse(deps.logger, deps.settings));
  return app;
}
