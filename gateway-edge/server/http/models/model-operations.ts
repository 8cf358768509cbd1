import { z } from "zod";
import {
  modelGroupInfoQuery,
  modelGroupRecord,
  modelInfoQuery,
  modelInfoRecord,
  modelRecord,
  modelsQuery,
} from "../../../schemas/calls/models.ts";
import {
  rawRequestRecord,
  supportedParamsQuery,
  supportedParamsRecord,
  tokenCountQuery,
  tokenCountRecord,
  tokenCountRequest,
  transformRequest,
} from "../../../schemas/calls/utilities.ts";
import type { OperationDescription, ResponseDescription } from "../../../schemas/operation-description.ts";
import { failure, twice } from "../gateway-operation.ts";

export const MODEL_LIST_PATHS = twice("models");
/** A model's name may contain slashes. */
export const MODEL_PATHS = twice("models/*id");
export const MODEL_INFO_PATHS = twice("model/info");
export const MODEL_GROUP_INFO_PATHS = twice("model_group/info");
export const TOKEN_COUNTER_PATHS = twice("utils/token_counter");
export const SUPPORTED_PARAMS_PATHS = twice("utils/supported_openai_params");
export const TRANSFORM_REQUEST_PATHS = twice("utils/transform_request");

type Description = Omit<OperationDescription, "path" | "auth">;

/** The OpenAPI entries of models, model info and utilities. */
export function describeModelOperations(): OperationDescription[] {
  const noKey = failure("No valid API key.");
  const notFound = failure("The model does not exist, or the key may not use it.");
  const badQuery = failure("A query parameter is not valid; `detail` lists all errors.");
  const badBody = failure("The request is not valid; `detail` lists all errors.");
  const answer = (description: string, schema: z.ZodType) => ({ 200: { description, schema }, 401: noKey });
  const at = (paths: readonly string[], description: Description): OperationDescription[] =>
    paths.map((path) => ({ path: path.replace("*id", ":id"), auth: "key", ...description }));
  return [
    ...at(MODEL_LIST_PATHS, {
      method: "get",
      summary: "List the models that the key may use",
      tags: ["models"],
      query: modelsQuery,
      responses: {
        ...answer("The models.", z.object({ object: z.literal("list"), data: z.array(modelRecord) })),
        400: failure("The value of `scope` or `fallback_type` is not valid."),
        404: failure("The team does not exist."),
        422: badQuery,
      },
    }),
    ...at(MODEL_PATHS, {
      method: "get",
      summary: "Retrieve a model",
      tags: ["models"],
      params: z.object({ id: z.string() }),
      responses: { ...answer("The model.", modelRecord), 404: notFound },
    }),
    ...at(MODEL_INFO_PATHS, {
      method: "get",
      summary: "List the deployments of the models that the key may use, with limits, prices and capabilities",
      tags: ["models"],
      query: modelInfoQuery,
      responses: { ...answer("The deployments.", z.object({ data: z.array(modelInfoRecord) })), 404: notFound, 422: badQuery },
    }),
    ...at(MODEL_GROUP_INFO_PATHS, {
      method: "get",
      summary: "List the model groups that the key may use, each combined from its deployments",
      tags: ["models"],
      query: modelGroupInfoQuery,
      responses: { ...answer("The groups.", z.object({ data: z.array(modelGroupRecord) })), 422: badQuery },
    }),
    ...describeUtilities({ at, answer, badQuery, badBody }),
  ];
}

function describeUtilities(parts: {
  at(paths: readonly string[], description: Description): OperationDescription[];
  answer(description: string, schema: z.ZodType): Readonly<Record<number, ResponseDescription>>;
  badQuery: ResponseDescription;
  badBody: ResponseDescription;
}): OperationDescription[] {
  const { at, answer, badQuery, badBody } = parts;
  const notAllowed = failure("The key may not use the model.");
  return [
    ...at(TOKEN_COUNTER_PATHS, {
      method: "post",
      summary: "Count the tokens of a prompt or of messages",
      tags: ["utilities"],
      query: tokenCountQuery,
      body: tokenCountRequest,
      responses: {
        ...answer("The count.", tokenCountRecord),
        400: failure("The request has no prompt, messages or contents."),
        403: notAllowed,
        422: badBody,
      },
    }),
    ...at(SUPPORTED_PARAMS_PATHS, {
      method: "get",
      summary: "List the OpenAI parameters that a model supports",
      tags: ["utilities"],
      query: supportedParamsQuery,
      responses: { ...answer("The parameters.", supportedParamsRecord), 400: failure("The model does not exist."), 422: badQuery },
    }),
    ...at(TRANSFORM_REQUEST_PATHS, {
      method: "post",
      summary: "Show the request that a provider would receive; nothing is sent",
      tags: ["utilities"],
      body: transformRequest,
      responses: {
        ...answer("The request, without secrets.", rawRequestRecord),
        400: failure("The request cannot be transformed, or has a parameter that clients may not set."),
        403: notAllowed,
        404: failure("The model does not exist."),
        422: badBody,
      },
    }),
  ];
}
