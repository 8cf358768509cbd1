import express, { type Express, type RequestHandler, Router } from "express";
import { toJson } from "../common/json.ts";
import { gatewayErrorHandler, gatewayNotFound } from "./calls/gateway-error.ts";
import type { EdgeDeps } from "./deps.ts";
import type { OperationDescription } from "./schemas/operation-description.ts";
import { consoleRoutes } from "./server/http/console/console.ts";
import { agentPages } from "./server/http/site/agent-pages.ts";
import { isSiteBuilt, SITE_FOLDER, siteFiles } from "./server/http/site/site-files.ts";
import { enrollment, enrollmentDescriptions } from "./server/http/training/enrollment.ts";
import { federationParameters, parametersDescriptions } from "./server/http/training/federation-parameters.ts";
import { joinedDescriptions, joinedParticipants } from "./server/http/training/joined-participants.ts";
import { nodeProxy } from "./server/http/training/node-proxy.ts";
import { blobDescriptions, trainingBlobs } from "./server/http/training/training-blobs.ts";
import { explainBadPath, platformErrorHandler, platformNotFound } from "./server/middleware/error-response.ts";
import { allowOnly, type Operation, operationRouter } from "./server/middleware/operation.ts";
import { requestId } from "./server/middleware/request-id.ts";
import { crossOrigin, noStore, securityHeaders } from "./server/middleware/security-headers.ts";
import { openApiDocument } from "./server/openapi.ts";
import { adminGatewayOperations, type GatewayState } from "./server/platform/admin/admin-gateway.ts";
import { adminGuardrailOperations } from "./server/platform/admin/admin-guardrails.ts";
import { adminSettingOperations } from "./server/platform/admin/admin-settings.ts";
import { DOCS_CONTENT_POLICY, docsPage, withGuides } from "./server/platform/docs-page.ts";
import { type HealthParts, healthRoutes } from "./server/platform/health.ts";
import { messagesDescription, platformOperations } from "./server/platform/operations.ts";
import { otherDescriptions } from "./server/platform/other-descriptions.ts";
import { PAYMENT_EVENTS_PATH, paymentEventsDescription, paymentEventsHandler } from "./server/platform/payment-events.ts";
import { receiptKeyOperations } from "./server/platform/receipts.ts";
import { dataSetOperations } from "./server/platform/training/data-sets.ts";
import { federationMetricsOperations } from "./server/platform/training/federation-metrics.ts";
import { federationModelOperations } from "./server/platform/training/federation-models.ts";
import { federationOperations } from "./server/platform/training/federations.ts";
import { strategyOperations } from "./server/platform/training/strategies.ts";
import { trainedModelOperations } from "./server/platform/training/trained-models.ts";
import { trainerNodeOperations } from "./server/platform/training/trainer-nodes.ts";

/** What main.ts adds to the dependencies: the inference routes and what they know. */
export interface AppParts extends HealthParts {
  /** Mounted before all other routes; sets the request ids of its responses itself. */
  inferenceRoutes: RequestHandler;
  inferenceOperations: readonly OperationDescription[];
  /** Read by the admin operations for routing, guardrails and cache. */
  gateway: GatewayState;
  /** POST /api/gw/messages. It authenticates by itself; its errors have the platform's format. */
  messagesHandler: RequestHandler;
}

/** One express app: inference routes first, then health and console, then the platform API and its documents. */
export function createApp(deps: EdgeDeps, parts: AppParts): Express {
  const app = express();
  configure(app, deps);
  if (deps.config.corsOrigins.length > 0) app.use(crossOrigin(deps.config.corsOrigins));
  app.use(parts.inferenceRoutes);
  app.use(requestId(deps), securityHeaders);
  app.use(healthRoutes(deps, parts));
  app.use(consoleRoutes(deps));
  app.use(platformRoutes(deps, parts));
  app.use(explainBadPath);
  app.use(["/api", "/training"], platformNotFound, platformErrorHandler(deps.logger));
  app.use(gatewayNotFound, gatewayErrorHandler);
  return app;
}

function configure(app: Express, { config }: EdgeDeps): void {
  app.disable("x-powered-by");
  app.disable("etag");
  app.enable("case sensitive routing");
  app.set("query parser", "simple");
  app.set("trust proxy", config.trustProxy.length > 0 ? [...config.trustProxy] : false);
}

/** The operations of the platform and of training, which one router serves. */
function servedOperations(deps: EdgeDeps, parts: Pick<AppParts, "gateway">): Operation[] {
  return [
    ...platformOperations(deps),
    ...receiptKeyOperations(deps),
    ...trainedModelOperations(deps),
    ...federationOperations(deps),
    ...federationModelOperations(deps),
    ...federationMetricsOperations(deps),
    ...trainerNodeOperations(deps),
    ...adminGatewayOperations(deps, parts.gateway),
    ...adminGuardrailOperations(deps, parts.gateway),
    ...adminSettingOperations(deps, parts.gateway),
    ...dataSetOperations(deps),
    ...strategyOperations(deps),
  ];
}

/** Every operation of /openapi.json. */
export function describedOperations(deps: EdgeDeps, parts: Pick<AppParts, "gateway" | "inferenceOperations">): OperationDescription[] {
  return [
    ...servedOperations(deps, parts),
    messagesDescription,
    paymentEventsDescription,
    ...parametersDescriptions,
    ...enrollmentDescriptions,
    ...joinedDescriptions,
    ...blobDescriptions,
    ...otherDescriptions,
    ...parts.inferenceOperations,
  ];
}

function platformRoutes(deps: EdgeDeps, parts: AppParts): Router {
  const router = Router({ caseSensitive: true });
  router.use(["/api", "/training"], noStore);
  router.use("/docs", siteFiles(SITE_FOLDER));
  router.use(agentPages());
  router.post("/api/gw/messages", parts.messagesHandler);
  router.all("/api/gw/messages", allowOnly(["POST"]));
  router.post(PAYMENT_EVENTS_PATH, paymentEventsHandler(deps));
  router.all(PAYMENT_EVENTS_PATH, allowOnly(["POST"]));
  router.use(operationRouter(servedOperations(deps, parts), deps));
  router.use(federationParameters(deps));
  router.use(enrollment(deps));
  router.use(joinedParticipants(deps));
  router.use(trainingBlobs(deps));
  router.use(nodeProxy(deps));
  router.use(documentRoutes(() => describedOperations(deps, parts)));
  return router;
}

/** The documents are made once, on the first request: that takes long, and declarations do not change while the process runs. */
function documentRoutes(operations: () => readonly OperationDescription[]): Router {
  const print = () => {
    const document = openApiDocument(operations());
    return { json: toJson(document), page: docsPage(document) };
  };
  let printed: ReturnType<typeof print> | undefined;
  const router = Router({ caseSensitive: true });
  router.get("/openapi.json", (_request, response) => {
    printed ??= print();
    response.type("application/json").end(printed.json);
  });
  router.get(["/docs", "/docs/api"], async (_request, response) => {
    printed ??= print();
    response.setHeader("content-security-policy", DOCS_CONTENT_POLICY);
    response.type("text/html").end(withGuides(printed.page, await isSiteBuilt(SITE_FOLDER)));
  });
  return router;
}
