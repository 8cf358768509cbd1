import { type RequestHandler, Router } from "express";
import type { Inference } from "../../calls/create.ts";
import { gatewayErrorHandler, gatewayErrorStatus } from "../../calls/gateway-error.ts";
import type { EdgeDeps } from "../../deps.ts";
import type { OperationDescription } from "../../schemas/operation-description.ts";
import type { EdgeRuns } from "../../stored/assistants/edge-runs.ts";
import type { Worker } from "../../stored/records/worker.ts";
import { FullStores } from "../../stored/responses/full-stores.ts";
import type { ResponseFeed } from "../../stored/responses/response-feed.ts";
import { anthropicErrorHandler, anthropicErrorStatus } from "../middleware/anthropic-error.ts";
import { type AuthProfile, authenticateKey } from "../middleware/authenticate-key.ts";
import { assistantsOperations, describeAssistants } from "./assistants/assistants.ts";
import type { AssistantsDeps } from "./assistants/assistants-deps.ts";
import type { CallDeps } from "./calls/answer-call.ts";
import { createAnswerOnce } from "./calls/answer-once.ts";
import { audioFormHandler, speechHandler } from "./calls/audio.ts";
import { chatCompletionsHandler } from "./calls/chat-completions.ts";
import { completionsHandler } from "./calls/completions.ts";
import { countResponseOperations } from "./calls/count-response.ts";
import { embeddingsHandler } from "./calls/embeddings.ts";
import { imageEditsHandler, imagesHandler } from "./calls/images.ts";
import {
  IMAGE_EDITS_PATHS,
  IMAGES_PATHS,
  RERANK_PATHS,
  SPEECH_PATHS,
  TRANSCRIPTIONS_PATHS,
  TRANSLATIONS_PATHS,
} from "./calls/media-operations.ts";
import { messagesRoutes } from "./calls/messages.ts";
import { describeMessages } from "./calls/messages-operations.ts";
import { moderationsHandler } from "./calls/moderations.ts";
import { noteRefusal } from "./calls/note-refusal.ts";
import { describePassThrough, passThroughRoutes } from "./calls/pass-through.ts";
import { messagesHandler } from "./calls/platform-messages.ts";
import { rerankHandler } from "./calls/rerank.ts";
import { describeResponses, responsesOperations } from "./calls/responses.ts";
import { supportedParamsHandler, tokenCounterHandler, transformRequestHandler, type UtilityDeps } from "./calls/utilities.ts";
import { conversationsOperations, describeConversations } from "./conversations/conversations.ts";
import { type ExactRoutes, exactRoutes } from "./exact-routes.ts";
import { type BatchesDeps, batchesOperations } from "./files/batches.ts";
import { type FilesDeps, filesOperations } from "./files/files.ts";
import { type CallRoute, type Gate, type GatedRoute, gatedRouter } from "./gate.ts";
import { describeGatewayOperations } from "./gateway-operation.ts";
import { describeMcp, mcpRoutes } from "./mcp/mcp-operations.ts";
import { modelGroupInfoHandler, modelInfoHandler } from "./models/model-info.ts";
import {
  MODEL_GROUP_INFO_PATHS,
  MODEL_INFO_PATHS,
  MODEL_LIST_PATHS,
  MODEL_PATHS,
  SUPPORTED_PARAMS_PATHS,
  TOKEN_COUNTER_PATHS,
  TRANSFORM_REQUEST_PATHS,
} from "./models/model-operations.ts";
import { getModelHandler, listModelsHandler, type ModelListDeps } from "./models/models.ts";
import { CHAT_PATHS, COMPLETIONS_PATHS, describeOperations, EMBEDDINGS_PATHS, MODERATIONS_PATHS } from "./operations.ts";
import { describePrompts, promptsOperations } from "./prompts/prompts.ts";
import { describeRealtime, realtimeRoutes } from "./realtime/realtime-operations.ts";
import { describeVectorStores, vectorStoresOperations } from "./vector-stores/vector-stores.ts";

/** The OpenAPI entries of the routes below. */
export const inferenceOperations: readonly OperationDescription[] = [
  ...describeOperations(),
  ...describeMessages(),
  ...describeResponses(),
  ...describeAssistants(),
  ...describeGatewayOperations([...filesOperations({} as FilesDeps), ...batchesOperations({} as BatchesDeps)]),
  ...describeRealtime(),
  ...describeMcp(),
  ...describePassThrough(),
  ...describeVectorStores(),
  ...describePrompts(),
  ...describeConversations(),
];

/** What the inference routes need beside EdgeDeps. */
export interface RouteParts {
  readonly inference: Inference;
  /** Executes background work: runs and batches. */
  readonly worker: Worker;
  readonly runs: EdgeRuns;
  /** Wakes the readers of background responses. */
  readonly feed: ResponseFeed;
  readonly authProfile: AuthProfile;
  /** Absent: no call is refused for overload. */
  readonly overload?: Gate["overload"];
}

/** The most frequent routes, matched without express' router. */
export function exactInferenceRoutes(deps: EdgeDeps, parts: RouteParts): ExactRoutes {
  return exactRoutes(deps, { routes: hotRoutes(callDeps(deps, parts.inference)), gate: gateOf(parts) });
}

/** Every inference path. */
export function inferenceRouter(deps: EdgeDeps, parts: RouteParts): Router {
  const { inference } = parts;
  const calls = callDeps(deps, inference);
  const gate = gateOf(parts);
  const unlogged: Gate = { ...gate, onRefused: undefined };
  const router = Router({ caseSensitive: true });
  router.use(gatedRouter(deps, [...hotRoutes(calls), ...mediaRoutes(calls)], gate));
  router.use(gatedRouter(deps, [...modelRoutes(deps, inference), ...assistantsOperations(assistantsDeps(deps, parts))], unlogged));
  router.use(gatedRouter(deps, [...fileRoutes(deps, parts), ...realtimeRoutes(), ...mcpRoutes(deps, inference)], unlogged));
  const responses = { ...calls, ...pickResponses(deps, parts), once: createAnswerOnce(calls) };
  router.use(gatedRouter(deps, countResponseOperations(responses), unlogged));
  router.use(gatedRouter(deps, responsesOperations(responses), gate));
  router.use(gatedRouter(deps, messagesRoutes({ ...calls, inference }), anthropicGate(gate, inference)));
  router.use(gatedRouter(deps, passThroughRoutes(inference.passThrough), gate));
  return router;
}

function pickResponses({ records, random, clock }: EdgeDeps, { inference, worker, feed }: RouteParts) {
  return { records, random, inference, worker, feed, full: new FullStores(clock) };
}

function gateOf({ inference, authProfile, overload }: Pick<RouteParts, "inference" | "authProfile" | "overload">): Gate {
  const onRefused = noteRefusal(inference, gatewayErrorStatus);
  return { authenticate: authenticateKey(authProfile, inference), onError: gatewayErrorHandler, onRefused, overload };
}

function anthropicGate(gate: Gate, inference: Inference): Gate {
  return { ...gate, onError: anthropicErrorHandler, onRefused: noteRefusal(inference, anthropicErrorStatus) };
}

/**
 * The paths of an operation, with those whose model has slashes as they are: Azure's official client for Python does not encode them. The
 * first of several routes wins, so the model of `/engines/a/chat/completions` is a.
 */
function withRawSlashes(paths: readonly string[]): string[] {
  const ofModels = paths.filter((path) => path.includes("/:model/"));
  return [...paths, ...ofModels.map((path) => path.replace("/:model/", "/:model/*modelRest/"))];
}

function hotRoutes(calls: CallDeps): CallRoute[] {
  return [
    { method: "post", paths: withRawSlashes(CHAT_PATHS), makesCall: true, handler: chatCompletionsHandler(calls) },
    { method: "post", paths: withRawSlashes(COMPLETIONS_PATHS), makesCall: true, handler: completionsHandler(calls) },
    { method: "post", paths: withRawSlashes(EMBEDDINGS_PATHS), makesCall: true, handler: embeddingsHandler(calls) },
    { method: "post", paths: MODERATIONS_PATHS, makesCall: true, handler: moderationsHandler(calls) },
  ];
}

function assistantsDeps(deps: EdgeDeps, { inference, worker, runs }: RouteParts): AssistantsDeps {
  const { config, records, clock, random } = deps;
  return {
    records,
    clock,
    random,
    routing: inference.routing,
    worker,
    starter: { lease: () => worker.newLease(), start: (record, caller) => worker.startNow({ record, caller }) },
    feed: runs.feed,
    breakOff: (runId) => runs.breakOff(runId),
    bodyBytesMax: config.jsonBodyBytesMax,
    once: createAnswerOnce(callDeps(deps, inference)),
    openCalls: deps.openCalls,
    stallMs: config.streamStallMs,
  };
}

function fileRoutes(deps: EdgeDeps, { worker, inference }: RouteParts): GatedRoute[] {
  const { config, records, clock, random } = deps;
  const once = createAnswerOnce(callDeps(deps, inference));
  const stored = { records, clock, random, once, bodyBytesMax: config.jsonBodyBytesMax };
  return [
    ...filesOperations({ ...stored, fileBytesMax: config.fileBytesMax }),
    ...batchesOperations({ ...stored, worker }),
    ...promptsOperations(stored),
    ...conversationsOperations(stored),
    ...vectorStoresOperations({ ...stored, worker, inference, routing: inference.routing }),
  ];
}

/** Audio, images and reranking. */
function mediaRoutes(calls: CallDeps): GatedRoute[] {
  return [
    { method: "post", paths: withRawSlashes(SPEECH_PATHS), makesCall: true, handler: speechHandler(calls) },
    { method: "post", paths: withRawSlashes(TRANSCRIPTIONS_PATHS), makesCall: true, handler: audioFormHandler(calls, "transcriptions") },
    { method: "post", paths: withRawSlashes(TRANSLATIONS_PATHS), makesCall: true, handler: audioFormHandler(calls, "translations") },
    { method: "post", paths: withRawSlashes(IMAGES_PATHS), makesCall: true, handler: imagesHandler(calls) },
    { method: "post", paths: withRawSlashes(IMAGE_EDITS_PATHS), makesCall: true, handler: imageEditsHandler(calls) },
    { method: "post", paths: RERANK_PATHS, makesCall: true, handler: rerankHandler(calls) },
  ];
}

function modelRoutes(deps: EdgeDeps, inference: Inference): GatedRoute[] {
  const utilities = utilityDeps(deps, inference);
  return [
    { method: "get", paths: MODEL_LIST_PATHS, handler: listModelsHandler({ ...inference, teamModels: teamModels(deps) }) },
    { method: "get", paths: MODEL_PATHS, handler: getModelHandler(inference) },
    { method: "get", paths: MODEL_INFO_PATHS, handler: modelInfoHandler(inference) },
    { method: "get", paths: MODEL_GROUP_INFO_PATHS, handler: modelGroupInfoHandler(inference) },
    { method: "post", paths: TOKEN_COUNTER_PATHS, handler: tokenCounterHandler(utilities) },
    { method: "get", paths: SUPPORTED_PARAMS_PATHS, handler: supportedParamsHandler(utilities) },
    { method: "post", paths: TRANSFORM_REQUEST_PATHS, handler: transformRequestHandler(utilities) },
  ];
}

const TEAM_MODELS_MS = 2000;

function teamModels({ control }: EdgeDeps): ModelListDeps["teamModels"] {
  return async ({ userId, isAdmin }, teamId) =>
    (await control.access.getTeamModels({ teamId, userId, isAdmin }, { deadlineMs: TEAM_MODELS_MS })).models;
}

/** POST /api/gw/messages: a chat completion for a logged-in user of the platform. */
export function platformMessagesHandler(deps: EdgeDeps, { inference }: { inference: Inference }): RequestHandler {
  return messagesHandler({ ...callDeps(deps, inference), control: deps.control, directory: inference, random: deps.random });
}

function callDeps({ config, control, records, clock, random, logger, openCalls }: EdgeDeps, inference: Inference): CallDeps {
  const limits = { bodyBytesMax: config.jsonBodyBytesMax, stallMs: config.streamStallMs };
  const { run, routing } = inference;
  const takesClientParams = () => routing.takesClientParams();
  return { run, access: control.access, records, clock, random, logger, openCalls, takesClientParams, ...limits };
}

function utilityDeps({ config, openCalls }: EdgeDeps, { routing, providers, countRemotely, countFreely }: Inference): UtilityDeps {
  const { jsonBodyBytesMax: bodyBytesMax } = config;
  return { routing, providers, countRemotely, countFreely, dropParams: () => routing.settings().dropParams, bodyBytesMax, openCalls };
}
