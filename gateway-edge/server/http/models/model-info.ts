import type { RequestHandler } from "express";
import { AppError } from "../../../../common/errors.ts";
import type { Deployment } from "../../../../proto/gen/tributary/access/v1/access.ts";
import type { ModelDirectory } from "../../../calls/inference/model-access.ts";
import { modelGroupInfoQuery, modelInfoQuery } from "../../../schemas/calls/models.ts";
import { parseQuery } from "../../../schemas/request-query.ts";
import type { Fields } from "../../../upstream/providers/provider.ts";
import { lenientNumber, readFields } from "../../../upstream/routing/lenient.ts";
import { callerOf } from "../../middleware/authenticate-key.ts";
import { redactFields, redactUrl, withoutAddresses } from "../redact.ts";
import { modelFacts, paramsOfDeployment, providerName, SUPPORTS } from "./model-facts.ts";
import { isShown, type Viewer, viewerOf, visibleGroups } from "./visible-models.ts";

/** The dependencies of the model info handlers. */
export interface ModelInfoDeps {
  readonly routing: ModelDirectory;
}

/** GET model/info: the deployments of the models that the key may use, without secrets. Only the master key sees the operator's addresses. */
export function modelInfoHandler(deps: ModelInfoDeps): RequestHandler {
  return (request, response) => {
    const { gw_model_id: id } = parseQuery(modelInfoQuery, request.query);
    const caller = callerOf(response);
    const deployments = visibleDeployments(viewerOf(caller), deps.routing);
    const chosen = id === undefined ? deployments : deployments.filter((deployment) => deployment.id === id);
    if (id !== undefined && chosen.length === 0) {
      throw new AppError("NOT_FOUND", `There is no model with the id ${id}.`, { param: "gw_model_id" });
    }
    response.json({ data: chosen.map((deployment) => modelEntry(deployment, { showsAddresses: caller.isAdmin })) });
  };
}

/** GET model_group/info: each model group as one model, combined from its deployments. */
export function modelGroupInfoHandler({ routing }: ModelInfoDeps): RequestHandler {
  return (request, response) => {
    const { model_group: group } = parseQuery(modelGroupInfoQuery, request.query);
    const viewer = viewerOf(callerOf(response));
    const names = group === undefined ? visibleGroups(viewer, routing) : [group].filter((name) => isShown(viewer, name, routing));
    response.json({ data: names.map((name) => groupEntry(name, routing.candidates(name, viewer))) });
  };
}

/** Each deployment once, under its own group's name and not under aliases. */
function visibleDeployments(viewer: Viewer, routing: ModelDirectory): Deployment[] {
  const byId = new Map<string, Deployment>();
  for (const name of visibleGroups(viewer, routing)) {
    for (const deployment of routing.candidates(name, viewer)) if (!byId.has(deployment.id)) byId.set(deployment.id, deployment);
  }
  return [...byId.values()];
}

function modelEntry(deployment: Deployment, { showsAddresses }: { showsAddresses: boolean }) {
  const { values, source } = modelFacts(deployment);
  const shown = (fields: Fields) => (showsAddresses ? redactFields(fields) : withoutAddresses(redactFields(fields)));
  const provider = providerName(deployment);
  const { created_at: createdAt, updated_at: updatedAt } = times(deployment);
  return {
    model_name: deployment.modelName,
    litellm_params: {
      ...shown(readFields(deployment.params)),
      model: `${provider}/${deployment.inferenceModelId}`,
      // The addresses of the operator's own nodes are shown to no caller.
      ...(showsAddresses && deployment.baseUrl && !deployment.model?.trained ? { api_base: redactUrl(deployment.baseUrl) } : {}),
      custom_llm_provider: provider,
    },
    model_info: {
      created_at: createdAt,
      updated_at: updatedAt,
      litellm_provider: provider,
      ...shown(values),
      // Redaction drops nulls; they are added again, because clients expect the fields.
      ...Object.fromEntries(Object.entries(values).filter(([, value]) => value === null)),
      supported_openai_params: paramsOfDeployment(deployment, values["mode"]),
      id: deployment.id,
      db_model: deployment.dbModel,
      source,
    },
  };
}

function times({ model }: Deployment) {
  return { created_at: model?.createdAt?.toISOString() ?? null, updated_at: model?.updatedAt?.toISOString() ?? null };
}

function groupEntry(name: string, deployments: readonly Deployment[]) {
  const all = deployments.map((deployment) => ({
    deployment,
    values: modelFacts(deployment).values,
    params: readFields(deployment.params),
  }));
  const values = all.map((each) => each.values);
  const limits = all.map(({ params, values: info }) => ({ ...pick(info, "tpm", "rpm"), ...pick(params, "tpm", "rpm") }));
  const clientSide = all.map(({ params }) => params["configurable_clientside_auth_params"]).find((value) => Array.isArray(value));
  return {
    model_group: name,
    providers: [...new Set(deployments.map(providerName))],
    max_input_tokens: whole(greatest(values, "max_input_tokens")),
    max_output_tokens: whole(greatest(values, "max_output_tokens")),
    input_cost_per_token: greatest(values, "input_cost_per_token"),
    output_cost_per_token: greatest(values, "output_cost_per_token"),
    mode: values.map(({ mode }) => mode).find((mode) => typeof mode === "string") ?? null,
    tpm: whole(sum(limits, "tpm")),
    rpm: whole(sum(limits, "rpm")),
    ...Object.fromEntries(SUPPORTS.map((field) => [field, values.some((each) => each[field] === true)])),
    supported_openai_params: [...new Set(all.flatMap(({ deployment, values: info }) => paramsOfDeployment(deployment, info["mode"])))],
    configurable_clientside_auth_params: clientSide ?? null,
  };
}

function numbers(all: readonly Fields[], field: string): number[] {
  return all.map((fields) => lenientNumber.parse(fields[field] ?? undefined)).filter((value) => value !== undefined);
}

function greatest(all: readonly Fields[], field: string): number | null {
  const found = numbers(all, field);
  return found.length === 0 ? null : Math.max(...found);
}

function sum(all: readonly Fields[], field: string): number | null {
  const found = numbers(all, field);
  return found.length === 0 ? null : found.reduce((total, value) => total + value, 0);
}

function whole(value: number | null): number | null {
  return value === null ? null : Math.trunc(value);
}

function pick(fields: Fields, ...names: readonly string[]): Fields {
  return Object.fromEntries(
    names.filter((name) => fields[name] !== undefined && fields[name] !== null).map((name) => [name, fields[name]]),
  );
}
