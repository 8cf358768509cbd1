import { defined } from "../../../common/defined.ts";
import { AppError } from "../../../common/errors.ts";
import type { ServiceHandlers } from "../../../common/grpc/server.ts";
import type { Model } from "../../../proto/gen/tributary/catalog/v1/catalog.ts";
import {
  type DeploymentRouting,
  type GatewayServiceService,
  type Routing,
  UpdateRoutingResponse,
} from "../../../proto/gen/tributary/gateway/v1/gateway.ts";
import { routingSetting, type StoredRouting } from "../../domain/gateway-settings.ts";
import { ROUTING_STRATEGIES } from "../../gateway-config/known-settings.ts";
import { collect } from "../../stores/page.ts";
import { requireAdmin } from "../actor.ts";
import { allModels } from "../catalog/merged-catalog.ts";
import type { ControlDeps } from "../deps.ts";
import { write } from "../write.ts";
import { FALLBACK_FIELDS, fileRoutingFields, storedSettings } from "./merged-settings.ts";
import { putSetting } from "./put-setting.ts";

type Handlers = ServiceHandlers<typeof GatewayServiceService>;

const FALLBACKS_MAX = 20;
/** How the API names fields. */
const API_NAMES: Readonly<Record<string, string>> = {
  fallbacks: "fallbacks.general",
  contextWindowFallbacks: "fallbacks.contextWindow",
  contentPolicyFallbacks: "fallbacks.contentPolicy",
};

/** Strategy, weights, order and fallbacks of model groups, which are stored where the file leaves them open. */
export function routingHandlers(deps: ControlDeps): Pick<Handlers, "listRouting" | "updateRouting"> {
  return {
    async listRouting(_request, context) {
      await requireAdmin(deps, context);
      const { routing } = await storedSettings(deps.store);
      const models = await modelNames(deps);
      return {
        groups: [...models].map((model) => routingMessage(deps, routing.get(model) ?? { model, deployments: {} })),
        file: deps.gateway.current.files[0],
      };
    },

    async updateRouting({ routing }, context) {
      const actor = await requireAdmin(deps, context);
      const given = toStored(routing ?? { model: "", deployments: [], fileFields: [] });
      await check(deps, given, routing?.deployments ?? []);
      return write(deps, context, { actor, codec: UpdateRoutingResponse, scopes: "catalog" }, async (scope) => {
        const { model, deployments, ...fields } = given;
        const isEmpty = Object.keys(deployments).length === 0 && Object.keys(fields).length === 0;
        await putSetting(scope, { id: routingSetting(model), value: isEmpty ? undefined : given });
        await scope.audit({ action: "routing.update", target: model, details: { ...fields, deployments } });
        return { routing: routingMessage(deps, given) };
      });
    },
  };
}

/** The names of all model groups, without their prices, because consoles ask for them every few seconds. */
async function modelNames({ store, gateway }: ControlDeps): Promise<Set<string>> {
  const [stored, trained] = await Promise.all([collect(store.scan("models")), collect(store.scan("trainedModels"))]);
  return new Set([...gateway.current.deployments.map(({ modelName }) => modelName), ...[...stored, ...trained].map(({ name }) => name)]);
}

async function check(deps: ControlDeps, given: StoredRouting, deployments: readonly DeploymentRouting[]): Promise<void> {
  const models = await allModels(deps, "all");
  const own = models.filter(({ name }) => name === given.model);
  if (own.length === 0) throw new AppError("NOT_FOUND", "There is no such model.");
  const ofFile = new Set(fileFields(deps, given.model));
  checkStrategy(given, ofFile);
  const known = new Set(models.map(({ name }) => name));
  for (const field of FALLBACK_FIELDS) checkFallbacks(given, field, { known, ofFile });
  for (const deployment of deployments) checkDeployment(given.model, deployment, { own, ofFile });
}

function checkStrategy({ strategy }: StoredRouting, ofFile: ReadonlySet<string>): void {
  if (strategy === undefined) return;
  if (ofFile.has("strategy")) refuseOfFile("strategy");
  if (!ROUTING_STRATEGIES.includes(strategy)) refuse("strategy", `must be one of ${ROUTING_STRATEGIES.join(", ")}`);
}

function checkFallbacks(
  given: StoredRouting,
  field: (typeof FALLBACK_FIELDS)[number],
  { known, ofFile }: { known: ReadonlySet<string>; ofFile: ReadonlySet<string> },
): void {
  const names = given[field] ?? [];
  if (names.length > 0 && ofFile.has(field)) refuseOfFile(field);
  const missing = names.find((name) => !known.has(name));
  if (missing !== undefined) refuse(field, `there is no model "${missing}"`);
  if (names.includes(given.model)) refuse(field, "must not contain the model itself");
  if (new Set(names).size !== names.length) refuse(field, "must contain each model once");
  if (names.length > FALLBACKS_MAX) refuse(field, `must have at most ${FALLBACKS_MAX} models`);
}

function checkDeployment(
  model: string,
  { id, weight, order }: DeploymentRouting,
  { own, ofFile }: { own: readonly Model[]; ofFile: ReadonlySet<string> },
): void {
  const deployment = own.find((candidate) => candidate.id === id);
  if (!deployment) refuse("deployments", `${id} is not a deployment of ${model}`);
  if (deployment.source === "training") refuse("deployments", "a trained model has the shares of POST /training/models/{model}/split");
  const isOfFile = (weight !== undefined && ofFile.has(`weight/${id}`)) || (order !== undefined && ofFile.has(`order/${id}`));
  if (isOfFile) refuseOfFile("deployments");
}

/** What the file sets of a group: fields of it, and weight and order of its deployments. */
function fileFields({ gateway: { current } }: ControlDeps, model: string): string[] {
  const own = current.deployments.filter(({ modelName }) => modelName === model);
  const params = own.flatMap(({ id, params: given }) =>
    (["weight", "order"] as const).flatMap((name) => (given[name] === undefined ? [] : [`${name}/${id}`])),
  );
  return [...fileRoutingFields(current.settings, model), ...params];
}

function refuse(field: string, message: string): never {
  const path = `body.${API_NAMES[field] ?? field}`;
  throw new AppError("VALIDATION_ERROR", "The routing is not valid.", { details: [{ path, message }] });
}

function refuseOfFile(field: string): never {
  refuse(field, "is set in the configuration file; change it there");
}

function toStored({ model, strategy, deployments, fallbacks, contextWindowFallbacks, contentPolicyFallbacks }: Routing): StoredRouting {
  const settings = deployments.flatMap(({ id, weight, order }) => {
    const own = defined({ weight, order });
    return Object.keys(own).length === 0 ? [] : [[id, own] as const];
  });
  const fields = {
    strategy,
    fallbacks: fallbacks?.names,
    contextWindowFallbacks: contextWindowFallbacks?.names,
    contentPolicyFallbacks: contentPolicyFallbacks?.names,
  };
  return { model, deployments: Object.fromEntries(settings), ...defined(fields) };
}

function routingMessage(deps: ControlDeps, { model, strategy, deployments, ...lists }: StoredRouting): Routing {
  const names = (list: string[] | undefined) => list && { names: list };
  return {
    model,
    strategy,
    deployments: Object.entries(deployments).map(([id, { weight, order }]) => ({ id, weight, order })),
    fallbacks: names(lists.fallbacks),
    contextWindowFallbacks: names(lists.contextWindowFallbacks),
    contentPolicyFallbacks: names(lists.contentPolicyFallbacks),
    fileFields: fileFields(deps, model),
  };
}
