import { toJson } from "../../../common/json.ts";
import { supportedParams } from "../../../common/providers/shared/registry.ts";
import type { Deployment } from "../../../proto/gen/tributary/access/v1/access.ts";
import type { Model as ModelMessage, Pricing, Provider as ProviderMessage } from "../../../proto/gen/tributary/catalog/v1/catalog.ts";
import type { ConfiguredDeployment, GatewayConfig } from "../../gateway-config/gateway-config.ts";
import { collect } from "../../stores/page.ts";
import type { Reader } from "../../stores/store.ts";
import type { ControlDeps } from "../deps.ts";
import { storedDeploymentParams, storedSettings } from "../gateway/merged-settings.ts";
import { date } from "../messages.ts";
import { modelMessage } from "./messages.ts";
import { openTls } from "./provider-tls.ts";
import { trainedDeployments, trainedModelMessages } from "./trained-deployments.ts";

/*
 * Precedence of the configuration file and the catalog of the store:
 * - deployments: both count; the same model_name in file and store is one group with the deployments of both.
 * - price: an admin's price version of a model name applies to every deployment of that name, also while the admin's own model is
 *   disabled; then the price of the file; then the public list price of the day the file was read.
 * - context window, output tokens, type and capabilities: each deployment has those of its own source.
 * - rate limits of a model name (RPM, TPM, parallel calls): the admin's; rpm and tpm of the file are capacity for routing.
 * - settings (routing, caching, guardrails): the file; stored ones apply to what it leaves open (`gateway/merged-settings.ts`).
 * - master key: MASTER_KEY, then general_settings.master_key, then the one generated at the first start (`bootstrap.ts`).
 */

type Deps = Pick<ControlDeps, "store" | "clock" | "secrets" | "gateway"> & {
  config: Pick<ControlDeps["config"], "allowUnpricedModels" | "serving">;
};

/** Every callable deployment: those of the file in its order, then those of the store by name, then those of trained models. */
export async function allDeployments(deps: Deps): Promise<Deployment[]> {
  const now = deps.clock.now();
  const stored = await storedModels(deps.store, now);
  const admins = byName(stored);
  const params = storedDeploymentParams(await storedSettings(deps.store));
  const all = [
    ...deps.gateway.current.deployments.map((deployment) => fileDeployment(deployment, admins, params.get(deployment.id))),
    ...(await storedDeployments(deps, stored, params)),
    ...(await trainedDeployments(deps)),
  ];
  return deps.config.allowUnpricedModels ? all.map(asFreeWhereUnpriced) : all;
}

/** With ALLOW_UNPRICED_MODELS a model without a price costs nothing. Otherwise edges refuse calls to it. */
function asFreeWhereUnpriced(deployment: Deployment): Deployment {
  const { model } = deployment;
  if (!model || model.pricing) return deployment;
  return {
    ...deployment,
    model: { ...model, pricing: { version: 0, effectiveAt: model.createdAt, unit: "token", input: 0n, output: 0n } },
  };
}

/** Models of file and store, as `/api/models` shows them, and the trained models that this organization may call. */
export async function allModels(
  deps: Pick<Deps, "store" | "clock" | "gateway">,
  organizationId: string | undefined | "all",
): Promise<ModelMessage[]> {
  const now = deps.clock.now();
  const stored = await storedModels(deps.store, now);
  const admins = byName(stored);
  const trained = await trainedModelMessages(deps.store, { now, organizationId });
  return [...deps.gateway.current.deployments.map((deployment) => fileModel(deployment, admins)), ...stored, ...trained];
}

/** The providers of the file: one per provider kind that it uses. They can be changed only in the file. */
export function fileProviders(config: GatewayConfig): ProviderMessage[] {
  const counts = new Map<string, number>();
  for (const { providerKind } of config.deployments) counts.set(providerKind, (counts.get(providerKind) ?? 0) + 1);
  return [...counts].map(([kind, modelCount]) => ({
    id: fileProviderId(kind),
    name: kind,
    kind,
    status: kind === "echo" ? "up" : "unknown",
    modelCount,
    source: "configuration",
  }));
}

export function isOfFile(config: GatewayConfig, id: string): boolean {
  return config.deployments.some((deployment) => deployment.id === id || fileProviderId(deployment.providerKind) === id);
}

function fileProviderId(kind: string): string {
  return `config_${kind}`;
}

async function storedModels(reader: Reader, now: number): Promise<ModelMessage[]> {
  const models = await collect(reader.scan("models", { index: "byName" }));
  return Promise.all(models.map((model) => modelMessage(reader, model, now)));
}

/** Prices and limits that admins set for a model name; they apply to deployments of the file too. */
type AdminModels = ReadonlyMap<string, Pick<ModelMessage, "pricing" | "limits">>;

function byName(stored: readonly ModelMessage[]): AdminModels {
  return new Map(stored.map((model) => [model.name, model]));
}

type DeploymentParams = ReturnType<typeof storedDeploymentParams>;

async function storedDeployments(
  { store, secrets }: Deps,
  messages: readonly ModelMessage[],
  params: DeploymentParams,
): Promise<Deployment[]> {
  const models = await store.getMany(
    "models",
    messages.map(({ id }) => id),
  );
  const providers = await store.getMany(
    "providers",
    messages.map(({ providerId }) => providerId),
  );
  return messages.flatMap((message, index): Deployment[] => {
    const [model, provider] = [models[index], providers[index]];
    if (!model || !provider || message.status !== "active") return [];
    return [
      {
        id: message.id,
        modelName: message.name,
        model: message,
        providerKind: provider.kind,
        inferenceModelId: model.inferenceModelId,
        baseUrl: provider.baseUrl,
        apiKey: provider.sealedCredential === undefined ? undefined : secrets.open(provider.sealedCredential).toString("utf8"),
        params: toJson(params.get(message.id) ?? {}),
        info: "{}",
        dbModel: true,
        organizationIds: [],
        tls: openTls(provider, secrets),
      },
    ];
  });
}

function fileDeployment(deployment: ConfiguredDeployment, admins: AdminModels, params: object | undefined): Deployment {
  return {
    id: deployment.id,
    modelName: deployment.modelName,
    model: fileModel(deployment, admins),
    providerKind: deployment.providerKind,
    inferenceModelId: deployment.inferenceModelId,
    baseUrl: deployment.baseUrl,
    apiKey: deployment.apiKey,
    params: toJson({ ...params, ...deployment.params }),
    info: toJson(deployment.info),
    dbModel: false,
    organizationIds: [],
    tls: deployment.tls,
  };
}

function fileModel(deployment: ConfiguredDeployment, admins: AdminModels): ModelMessage {
  const { providerKind, type, createdAt } = deployment;
  const admin = admins.get(deployment.modelName);
  return {
    id: deployment.id,
    name: deployment.modelName,
    providerId: fileProviderId(providerKind),
    providerName: providerKind,
    type,
    description: deployment.description,
    contextWindow: deployment.contextWindow,
    maxOutputTokens: deployment.maxOutputTokens,
    pricing: admin?.pricing ?? filePrice(deployment),
    limits: admin?.limits,
    capabilities: [...deployment.capabilities],
    supportedParams: [...supportedParams(providerKind, { mode: type, model: deployment.inferenceModelId })],
    status: "active",
    source: "configuration",
    inferenceModelId: deployment.inferenceModelId,
    createdAt: date(createdAt),
    updatedAt: date(createdAt),
  };
}

/** Version 0: not a price version of the store. */
function filePrice({ price, createdAt }: ConfiguredDeployment): Pricing | undefined {
  if (!price) return undefined;
  const { source: _source, tiers, images, ...prices } = price;
  return {
    version: 0,
    effectiveAt: date(createdAt),
    ...prices,
    tiers: tiers && { tiers: [...tiers] },
    images: images && { prices: images },
  };
}
