import type { Request, RequestHandler, Response } from "express";
import { toJson } from "../../../../common/json.ts";
import type { Caller, Deployment } from "../../../../proto/gen/tributary/access/v1/access.ts";
import type { ModelList } from "../../../../proto/gen/tributary/keys/v1/keys.ts";
import { modelNotFound } from "../../../calls/inference/admit.ts";
import type { ModelDirectory } from "../../../calls/inference/model-access.ts";
import { type ModelsQuery, parseModelsQuery } from "../../../schemas/calls/models.ts";
import { callerOf } from "../../middleware/authenticate-key.ts";
import { trainedFacts } from "./trained-facts.ts";
import { mayView, type Viewer, visibleAccessGroups, visibleModels } from "./visible-models.ts";

/** The dependencies of the model handlers. */
export interface ModelsDeps {
  readonly routing: ModelDirectory;
}

/** The dependencies of the model list. */
export interface ModelListDeps extends ModelsDeps {
  /** The models that a team may use. Throws NOT_FOUND if the caller is neither a member nor an admin. */
  teamModels(caller: Caller, teamId: string): Promise<ModelList | undefined>;
}

/** GET models: the models that the caller's key may use, in OpenAI's format. */
export function listModelsHandler({ routing, teamModels }: ModelListDeps): RequestHandler {
  return async (request, response) => {
    const query = parseModelsQuery(request.query);
    const viewer = await chooseViewer(callerOf(response), query, teamModels);
    const models = query.only_model_access_groups ? [] : visibleModels(viewer, routing, { withWildcards: query.return_wildcard_routes });
    const withGroups = query.include_model_access_groups || query.only_model_access_groups;
    const groups = withGroups ? visibleAccessGroups(viewer, routing) : [];
    const entries = new Map(models.map((name) => [name, modelEntry(name, routing.candidates(name, viewer)[0])]));
    for (const group of groups) {
      const members = [...(routing.accessGroups().get(group) ?? [])].flatMap((member) => routing.candidates(member, viewer));
      if (!entries.has(group)) entries.set(group, modelEntry(group, members[0]));
    }
    const metadata = (name: string) =>
      query.include_metadata ? { metadata: { fallbacks: fallbacksOf(name, { query, viewer, routing }) } } : {};
    sendJson(response, { object: "list", data: [...entries.values()].map((entry) => ({ ...entry, ...metadata(entry.id) })) });
  };
}

/** GET models/{id}: a model that the key may not use is a 404. Names may contain slashes, raw or encoded. */
export function getModelHandler({ routing }: ModelsDeps): RequestHandler {
  return (request, response) => {
    const caller = callerOf(response);
    const name = nameIn(request);
    const [deployment] = routing.candidates(name, caller);
    if (!deployment) throw modelNotFound(name, "model");
    sendJson(response, modelEntry(name, deployment));
  };
}

/** Not `response.json`, because prices are bigint. */
function sendJson(response: Response, body: object): void {
  response.type("application/json").end(toJson(body));
}

function nameIn(request: Request): string {
  const { id } = request.params;
  return Array.isArray(id) ? id.join("/") : String(id);
}

/** With `team_id`, the team's list applies and not the key's. A team of others is a 404. */
async function chooseViewer(
  caller: Caller,
  { team_id: asked, scope }: ModelsQuery,
  teamModels: ModelListDeps["teamModels"],
): Promise<Viewer> {
  const manages = caller.isAdmin || caller.role === "owner" || caller.role === "admin";
  const teamId = asked ?? caller.teamId;
  const { organizationId } = caller;
  const list = teamId === caller.teamId ? caller.teamModels : await teamModels(caller, teamId);
  if (scope === "expand" && manages) return { teamId, organizationId };
  return { teamId, organizationId, teamModels: list, models: asked === undefined ? caller.models : undefined };
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
    ...trainedFacts(deployment?.model),
  };
}
