import { type ErrorRequestHandler, type RequestHandler, Router } from "express";
import { AppError } from "../../common/errors.ts";
import { newId } from "../../common/ids.ts";
import type { Logger } from "../../common/logger.ts";
import type { EdgeDeps } from "../deps.ts";
import type { Inference } from "../inference/create.ts";
import { type AuthProfile, authenticateKey } from "../middleware/authenticate-key.ts";
import { gatewayErrorHandler, gatewayErrorOf } from "../middleware/gateway-error.ts";
import { assignRequestId, requestIdOf } from "../middleware/request-id.ts";
import type { OperationDescription } from "../schemas/operation-description.ts";
import type { CallDeps } from "./answer-call.ts";
import { chatCompletionsHandler } from "./chat-completions.ts";
import { completionsHandler } from "./completions.ts";
import { embeddingsHandler } from "./embeddings.ts";
import { modelGroupInfoHandler, modelInfoHandler } from "./model-info.ts";
import {
  MODEL_GROUP_INFO_PATHS,
  MODEL_INFO_PATHS,
  MODEL_LIST_PATHS,
  MODEL_PATHS,
  SUPPORTED_PARAMS_PATHS,
  TOKEN_COUNTER_PATHS,
  TRANSFORM_REQUEST_PATHS,
} from "./model-operations.ts";
import { getModelHandler, listModelsHandler } from "./models.ts";
import { moderationsHandler } from "./moderations.ts";
import { CHAT_PATHS, COMPLETIONS_PATHS, describeOperations, EMBEDDINGS_PATHS, MODERATIONS_PATHS } from "./operations.ts";
import { messagesHandler } from "./platform-messages.ts";
import { supportedParamsHandler, tokenCounterHandler, transformRequestHandler, type UtilityDeps } from "./utilities.ts";

/** What /openapi.json and /docs say of the routes below. */
export const inferenceOperations: readonly OperationDescription[] = describeOperations();

interface InferenceRoute {
  readonly method: "get" | "post";
  readonly paths: readonly string[];
  readonly handler: RequestHandler;
}

/**
 * Every inference path. One gate stands before all of them: it names the call, refuses other methods and authenticates,
 * before a byte of the body is read. Paths that are not in the table pass through untouched.
 */
export function inferenceRoutes(deps: EdgeDeps, { inference, authProfile }: { inference: Inference; authProfile: AuthProfile }): Router {
  const calls = callDeps(deps, inference);
  const utilities = utilityDeps(deps, inference);
  const routes: readonly InferenceRoute[] = [
    { method: "post", paths: CHAT_PATHS, handler: chatCompletionsHandler(calls) },
    { method: "post", paths: COMPLETIONS_PATHS, handler: completionsHandler(calls) },
    { method: "post", paths: EMBEDDINGS_PATHS, handler: embeddingsHandler(calls) },
    { method: "post", paths: MODERATIONS_PATHS, handler: moderationsHandler(calls) },
    { method: "get", paths: MODEL_LIST_PATHS, handler: listModelsHandler(inference) },
    { method: "get", paths: MODEL_PATHS, handler: getModelHandler(inference) },
    { method: "get", paths: MODEL_INFO_PATHS, handler: modelInfoHandler(inference) },
    { method: "get", paths: MODEL_GROUP_INFO_PATHS, handler: modelGroupInfoHandler(inference) },
    { method: "post", paths: TOKEN_COUNTER_PATHS, handler: tokenCounterHandler(utilities) },
    { method: "get", paths: SUPPORTED_PARAMS_PATHS, handler: supportedParamsHandler(utilities) },
    { method: "post", paths: TRANSFORM_REQUEST_PATHS, handler: transformRequestHandler(utilities) },
  ];
  const router = Router({ caseSensitive: true });
  const allPaths = routes.flatMap(({ paths }) => paths);
  router.all(allPaths, nameCall(deps));
  for (const { method, paths } of routes) router.all([...paths], refuseOtherMethods(method));
  router.all(allPaths, authenticateKey(authProfile, inference));
  for (const { method, paths, handler } of routes) for (const path of paths) router[method](path, nameRoute(path), handler);
  router.use(logFailure(deps.logger), gatewayErrorHandler);
  return router;
}

/** POST /api/gw/messages: the same call for a signed-in user of the platform. */
export function platformMessagesHandler(deps: EdgeDeps, { inference }: { inference: Inference }): RequestHandler {
  return messagesHandler({ ...callDeps(deps, inference), control: deps.control, directory: inference, random: deps.random });
}

function callDeps({ config, control, clock, logger }: EdgeDeps, inference: Inference): CallDeps {
  return { run: inference.run, access: control.access, clock, logger, bodyBytesMax: config.jsonBodyBytesMax };
}

function utilityDeps({ config }: EdgeDeps, { routing, providers }: Inference): UtilityDeps {
  return { routing, providers, dropParams: () => routing.settings().dropParams, bodyBytesMax: config.jsonBodyBytesMax };
}

/** Every answer, also a refusal, tells which request and which call it belongs to. */
function nameCall({ clock, random }: EdgeDeps): RequestHandler {
  return (request, response, next) => {
    assignRequestId(request, response, { clock, random });
    const callId = newId("call", { clock, random });
    response.locals["callId"] = callId;
    response.locals["route"] = "refused";
    response.setHeader("x-gw-call-id", callId);
    next();
  };
}

function nameRoute(path: string): RequestHandler {
  return (_request, response, next) => {
    response.locals["route"] = path;
    next();
  };
}

function refuseOtherMethods(method: InferenceRoute["method"]): RequestHandler {
  const allowed = method === "get" ? ["GET", "HEAD"] : ["POST"];
  return (request, response, next) => {
    if (allowed.includes(request.method)) return next();
    response.setHeader("allow", [...allowed, "OPTIONS"].join(", "));
    if (request.method === "OPTIONS") {
      response.status(204).end();
      return;
    }
    throw new AppError("METHOD_NOT_ALLOWED", `${request.method} is not possible here; use ${allowed.join(" or ")}.`);
  };
}

function logFailure(logger: Logger): ErrorRequestHandler {
  return (thrown: unknown, _request, response, next) => {
    const error = gatewayErrorOf(thrown);
    const fields = { requestId: requestIdOf(response), callId: response.locals["callId"], code: error.code, internal: error.internal };
    // A caller that left in the middle of its body is no fault of ours.
    if (error.code === "SERVER_ERROR" && !response.destroyed) logger.error(fields, error.message);
    else logger.debug(fields, error.message);
    next(error);
  };
}
