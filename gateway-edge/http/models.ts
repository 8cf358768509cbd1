import type { Request, RequestHandler } from "express";
import { AppError } from "../../common/errors.ts";
import type { Caller, Deployment } from "../../proto/gen/tributary/access/v1/access.ts";
import { mayUse, modelNotFound } from "../inference/admit.ts";
import { callerOf } from "../middleware/authenticate-key.ts";

export interface ModelsDeps {
  readonly catalog: { modelNames(): readonly string[]; deploymentsOf(model: string): readonly Deployment[] };
}

/** GET models: what the caller's key may use, in OpenAI's list; `scope=expand` shows all of them to whoever manages a team. */
export function listModelsHandler({ catalog }: ModelsDeps): RequestHandler {
  return (request, response) => {
    const caller = callerOf(response);
    const expanded = readScope(request) === "expand" && (caller.isAdmin || caller.role === "owner" || caller.role === "admin");
    const names = catalog.modelNames().filter((name) => expanded || mayUse(caller, name));
    response.json({ object: "list", data: names.map((name) => modelEntry(name, catalog)) });
  };
}

/** GET models/{id}: a model the key may not use looks as if it did not exist. Names may hold slashes, raw or encoded. */
export function getModelHandler({ catalog }: ModelsDeps): RequestHandler {
  return (request, response) => {
    const caller: Caller = callerOf(response);
    const { id } = request.params;
    const name = Array.isArray(id) ? id.join("/") : String(id);
    if (catalog.deploymentsOf(name).length === 0 || !mayUse(caller, name)) throw modelNotFound(name, "model");
    response.json(modelEntry(name, catalog));
  };
}

function readScope(request: Request): "expand" | undefined {
  const { scope } = request.query;
  if (scope === undefined || scope === "expand") return scope;
  const message = 'must be "expand"';
  throw new AppError("VALIDATION_ERROR", `Invalid scope parameter: it ${message}.`, {
    param: "scope",
    details: [{ path: "query.scope", message }],
  });
}

function modelEntry(name: string, catalog: ModelsDeps["catalog"]) {
  const deployment = catalog.deploymentsOf(name)[0];
  const createdMs = deployment?.model?.createdAt?.getTime() ?? 0;
  return {
    id: name,
    object: "model",
    created: Math.floor(createdMs / 1000),
    owned_by: deployment?.model?.providerName ?? deployment?.providerKind ?? "",
  };
}
