import type { Request, RequestHandler } from "express";
import { AppError } from "../../../../common/errors.ts";
import { findModelData } from "../../../../common/model-data/model-data.ts";
import { guessKind, kindOfPrefix, supportedParams } from "../../../../common/providers/shared/registry.ts";
import type { Caller, Deployment } from "../../../../proto/gen/tributary/access/v1/access.ts";
import type { Inference } from "../../../calls/create.ts";
import { gatewayErrorStatus } from "../../../calls/gateway-error.ts";
import { modelNotAllowed } from "../../../calls/inference/admit.ts";
import type { Job } from "../../../calls/inference/job.ts";
import { chatJob } from "../../../calls/inference/jobs/chat.ts";
import { completionsJob } from "../../../calls/inference/jobs/completions.ts";
import { embeddingsJob } from "../../../calls/inference/jobs/embeddings.ts";
import { moderationsJob } from "../../../calls/inference/jobs/moderations.ts";
import type { ModelDirectory } from "../../../calls/inference/model-access.ts";
import { type PlanDeps, previewCall } from "../../../calls/inference/plan-call.ts";
import type { OpenCalls } from "../../../calls/open-calls.ts";
import { parseJson, readBody, requireJsonType } from "../../../calls/read-body.ts";
import { parseChatRequest } from "../../../schemas/calls/chat.ts";
import { parseCompletionsRequest } from "../../../schemas/calls/completions.ts";
import { parseEmbeddingsRequest } from "../../../schemas/calls/embeddings.ts";
import { parseModerationsRequest } from "../../../schemas/calls/moderations.ts";
import {
  type CallType,
  parseTokenCountRequest,
  parseTransformRequest,
  supportedParamsQuery,
  type TokenCountRequest,
  tokenCountQuery,
} from "../../../schemas/calls/utilities.ts";
import { parseQuery } from "../../../schemas/request-query.ts";
import { takeClientParams } from "../../../upstream/client-params.ts";
import type { ChatMessage, Fields, Provider } from "../../../upstream/providers/provider.ts";
import { readFields } from "../../../upstream/routing/lenient.ts";
import { callerOf } from "../../middleware/authenticate-key.ts";
import { modelFacts, paramsOfDeployment } from "../models/model-facts.ts";
import { hasAddress, redactHeaders, redactUrl } from "../redact.ts";
import { clientLeft } from "./client-left.ts";

/** The dependencies of the utility handlers. */
export interface UtilityDeps extends PlanDeps {
  readonly routing: ModelDirectory;
  readonly providers: ReadonlyMap<string, Provider>;
  readonly countRemotely: Inference["countRemotely"];
  readonly countFreely: Inference["countFreely"];
  readonly dropParams: () => boolean;
  readonly bodyBytesMax: number;
  readonly openCalls: OpenCalls;
}

/**
 * POST utils/token_counter. A model that is not configured is counted by its name alone. With call_endpoint the provider counts, if it has
 * an endpoint for that.
 */
export function tokenCounterHandler(deps: UtilityDeps): RequestHandler {
  return async (request, response) => {
    const { call_endpoint: callEndpoint } = parseQuery(tokenCountQuery, request.query);
    const asked = parseTokenCountRequest(await readJson(deps, request));
    const caller = callerOf(response);
    const deployments = usableDeployments(deps, { caller, model: asked.model });
    const able = callEndpoint ? deployments.find(({ providerKind }) => deps.providers.get(providerKind)?.remoteCount) : undefined;
    const deployment = able ?? deployments[0];
    const remote = able && (await deps.countRemotely({ deployment: able, asked, signal: clientLeft(response, deps.openCalls) }));
    const { tokens, tokenizer } = remote?.type === "counted" ? remote : await count(deps, { asked, deployment, keyId: caller.keyId });
    const failure = remote?.type === "failed" ? remote : undefined;
    response.json({
      total_tokens: tokens,
      request_model: asked.model,
      model_used: deployment?.inferenceModelId ?? asked.model,
      tokenizer_type: tokenizer,
      original_response: remote?.type === "counted" ? remote.original : null,
      // The provider's count failed, so the count is the gateway's.
      error: failure !== undefined,
      error_message: failure?.error.message ?? null,
      status_code: failure ? (failure.upstreamStatus ?? gatewayErrorStatus(failure.error)) : null,
    });
  };
}

/** GET utils/supported_openai_params: for a group that the key may use, or for a provider's model. */
export function supportedParamsHandler(deps: UtilityDeps): RequestHandler {
  return (request, response) => {
    const { model } = parseQuery(supportedParamsQuery, request.query);
    const caller = callerOf(response);
    const deployments = deps.routing.candidates(model, caller);
    const ofGroup = deployments.map((each) => paramsOfDeployment(each, modelFacts(each).values["mode"]));
    const params = deployments.length > 0 ? [...new Set(ofGroup.flat())] : paramsOfPublicModel(model);
    if (!params) throw new AppError("INVALID_REQUEST", `Could not map model=${model}`, { param: "model" });
    response.json({ supported_openai_params: params });
  };
}

/** POST utils/transform_request: the request that the provider would receive; nothing is sent. */
export function transformRequestHandler(deps: UtilityDeps): RequestHandler {
  return async (request, response) => {
    const { callType, body } = parseTransformRequest(await readJson(deps, request));
    const makeJob = JOBS[callType];
    if (!makeJob) throw new AppError("INVALID_REQUEST", `This call_type is not supported here: ${callType}.`, { param: "call_type" });
    const dropParams = typeof body["drop_params"] === "boolean" ? body["drop_params"] : undefined;
    const caller = callerOf(response);
    const taken = takeClientParams(body);
    const client = taken?.params;
    const preview = previewCall(deps, { caller, job: makeJob((taken?.rest ?? body) as Fields), routing: { dropParams, client } });
    const { url, headers, body: sent, signing } = preview.request;
    const { apiKey, baseUrl, params } = preview.deployment;
    // An address that the operator set is shown to the master key alone; other keys see its path.
    const isShown = caller.isAdmin || client?.apiBase !== undefined || (baseUrl === undefined && !hasAddress(readFields(params)));
    const secrets = [apiKey, client?.apiKey].filter((secret) => secret !== undefined);
    response.json({
      raw_request_api_base: isShown ? redactUrl(url) : (URL.parse(url)?.pathname ?? ""),
      raw_request_body: typeof sent === "string" ? (JSON.parse(sent) as unknown) : {},
      // A request is signed when it is sent; only the type of signature is shown.
      raw_request_headers: redactHeaders({ ...headers, ...(signing ? { authorization: signing.type } : {}) }, secrets),
    });
  };
}

/** How each call type becomes a job. Forms and audio are not supported. */
const JOBS: Readonly<Partial<Record<CallType, (body: Fields) => Job<unknown>>>> = {
  completion: (body) => chatJob(parseChatRequest(body)),
  text_completion: (body) => completionsJob(parseCompletionsRequest(body)),
  embedding: (body) => embeddingsJob(parseEmbeddingsRequest(body)),
  moderation: (body) => moderationsJob(parseModerationsRequest(body)),
};

async function readJson({ bodyBytesMax }: UtilityDeps, request: Request): Promise<unknown> {
  requireJsonType(request);
  return parseJson(await readBody(request, bodyBytesMax));
}

function usableDeployments({ routing }: UtilityDeps, { caller, model }: { caller: Caller; model: string }): readonly Deployment[] {
  const deployments = routing.candidates(model, caller);
  if (deployments.length > 0 || !routing.groupOf(model, caller)) return deployments;
  throw modelNotAllowed(model, "model");
}

/** Counts as the provider does if that is known, because that is billed; otherwise by OpenAI's vocabularies. */
async function count(
  { providers, countFreely }: UtilityDeps,
  { asked, deployment, keyId }: { asked: TokenCountRequest; deployment: Deployment | undefined; keyId: string },
): Promise<{ tokens: number; tokenizer: string }> {
  const provider = deployment && providers.get(deployment.providerKind);
  const messages = asked.messages as readonly ChatMessage[] | undefined;
  if (provider?.counter && asked.contents === undefined) {
    const tokens = provider.counter.countText(asked.prompt ?? "") + (messages ? provider.counter.countMessages(messages) : 0);
    return { tokens, tokenizer: provider.kind };
  }
  return { tokens: await countFreely(keyId, deployment?.inferenceModelId ?? asked.model, asked), tokenizer: "openai_tokenizer" };
}

/** `provider/model`, or a bare name of the public model data. */
function paramsOfPublicModel(name: string): readonly string[] | undefined {
  const slash = name.indexOf("/");
  const prefixed = slash < 0 ? undefined : kindOfPrefix(name.slice(0, slash));
  const { kind } = prefixed ?? guessKind(name);
  const model = prefixed ? name.slice(slash + 1) : name;
  const data = findModelData({ kind, model });
  if (model === "" || (!prefixed && !data)) return undefined;
  return supportedParams(kind, { mode: data?.mode, model });
}
