import type { Request, RequestHandler } from "express";
import { AppError } from "../../common/errors.ts";
import type { Caller, Deployment } from "../../proto/gen/tributary/access/v1/access.ts";
import { modelNotFound } from "../inference/admit.ts";
import { type ModelDirectory, mayUseModel } from "../inference/model-access.ts";
import { callerOf } from "../middleware/authenticate-key.ts";
import { type ModelsQuery, parseModelsQuery } from "../schemas/models.ts";
import { mayView, type Viewer, visibleAccessGroups, visibleModels } from "./visible-models.ts";

export interface ModelsDeps {
  readonly routing: ModelDirectory;
}

/** GET models: what the caller's key may use, in OpenAI's list. */
export function listModelsHandler({ routing }: ModelsDeps): RequestHandler {
  return (request, response) => {
    const query = parseModelsQuery(request.query);
    const viewer = chooseViewer(callerOf(response), query);
    const models = query.only_model_access_groups ? [] : visibleModels(viewer, routing, { withWildcards: query.return_wildcard_routes });
    const withGroups = query.include_model_access_groups || query.only_model_access_groups;
    const groups = withGroups ? visibleAccessGroups(viewer, routing) : [];
    const entries = new Map(models.map((name) => [name, modelEntry(name, routing.candidates(name, viewer)[0])]));
    for (const group of groups) {
      const [member = ""] = routing.accessGroups().get(group) ?? [];
      if (!entries.has(group)) entries.set(group, modelEntry(group, routing.candidates(member, viewer)[0]));
    }
    const metadata = (name: string) =>
      query.include_metadata ? { metadata: { fallbacks: fallbacksOf(name, { query, viewer, routing }) } } : {};
    response.json({ object: "list", data: [...entries.values()].map((entry) => ({ ...entry, ...metadata(entry.id) })) });
  };
}

/** GET models/{id}: a model the key may not use looks as if it did not exist. Names may hold slashes, raw or encoded. */
export function getModelHandler({ routing }: ModelsDeps): RequestHandler {
  return (request, response) => {
    const caller = callerOf(response);
    const name = nameIn(request);
    const [deployment] = mayUseModel(caller, name, routing) ? routing.candidates(name, caller) : [];
    if (!deployment) throw modelNotFound(name, "model");
    response.json(modelEntry(name, deployment));
  };
}

function nameIn(request: Request): string {
  const { id } = request.params;
  return Array.isArray(id) ? id.join("/") : String(id);
}

/** Another team's models are its own business: for all but admins it looks as if there were no such team. */
function chooseViewer(caller: Caller, { team_id: teamId = caller.teamId, scope }: ModelsQuery): Viewer {
  if (teamId !== caller.teamId && !caller.isAdmin)
    throw new AppError("NOT_FOUND", `The team ${teamId} does not exist.`, { param: "team_id" });
  const manages = caller.isAdmin || caller.role === "owner" || caller.role === "admin";
  return { caller, teamId, expanded: scope === "expand" && manages };
}

function fallbacksOf(name: string, { query, viewer, routing }: { query: ModelsQuery; viewer: Viewer; routing: ModelDirectory }): string[] {
  return routing.fallbacksOf(name, query.fallback_type, viewer).filter((fallback) => mayView(viewer, fallback, routing));
}

function modelEntry(id: string, deployment: Deployment | undefined) {
  const createdMs = deployment?.model?.createdAt?.getTime() ?? 0;
  return {
    id,
    object: "model" as const,
    created: Math.floor(createdMs / 1000),
    owned_by: deployment?.model?.providerName || (deployment?.providerKind ?? ""),
  };
}
