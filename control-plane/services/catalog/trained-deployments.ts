import { toJson } from "../../../common/json.ts";
import { supportedParams } from "../../../common/providers/shared/registry.ts";
import { type Manifest, servedId } from "../../../common/training/trained-manifest.ts";
import type { Deployment } from "../../../proto/gen/tributary/access/v1/access.ts";
import type { Model as ModelMessage, Provider as ProviderMessage } from "../../../proto/gen/tributary/catalog/v1/catalog.ts";
import { priceAt } from "../../domain/pricing.ts";
import { mainVersion } from "../../domain/traffic.ts";
import { deploymentName } from "../../domain/trained-names.ts";
import type { TrainedModel, TrainedVersion } from "../../domain/trained-records.ts";
import { collect } from "../../stores/page.ts";
import type { Reader } from "../../stores/store.ts";
import type { ControlDeps } from "../deps.ts";
import { date } from "../messages.ts";
import { lineageFacts } from "../trained-models/messages.ts";
import { servedFrom } from "../trained-models/publish-request.ts";
import { pricingMessage } from "./messages.ts";

/** The provider kind of trained models. */
const TRAINED_KIND = "tributary";

/** Most output bytes of a language model or an own function in one call, and of a class name or number. */
const OUTPUT_BYTES_MAX = { text: 4096, label: 128 } as const;

interface ServedModel {
  readonly model: TrainedModel;
  /** Versions with a share of the calls. */
  readonly versions: readonly TrainedVersion[];
  readonly message: ModelMessage;
}

type Deps = Pick<ControlDeps, "store" | "clock"> & { config: Pick<ControlDeps["config"], "serving"> };

/** One deployment per version with a share of the calls and serving node. The router splits calls by version first. */
export async function trainedDeployments({ store, clock, config }: Deps): Promise<Deployment[]> {
  const served = await servedModels(store, clock.now());
  return served.flatMap(({ model, versions, message }) =>
    versions.flatMap((version) =>
      config.serving.urls.flatMap((url, node): Deployment[] => {
        const id = servedId(manifestOf(version));
        if (id === undefined) return [];
        return [
          {
            id: deploymentName({ modelId: model.id, version: version.version, node }),
            modelName: model.name,
            model: { ...message, trained: trainedMessage(model, version) },
            providerKind: TRAINED_KIND,
            inferenceModelId: `${model.name}@${version.version}`,
            baseUrl: `${url}/v1/serve/${id}`,
            apiKey: config.serving.token,
            params: toJson({ split: String(version.version), weight: percentOf(model, version.version) }),
            info: "{}",
            dbModel: true,
            organizationIds: organizationsOf(model),
          },
        ];
      }),
    ),
  );
}

function percentOf({ traffic }: TrainedModel, version: number): number {
  return traffic.find((share) => share.version === version)?.percent ?? 0;
}

/** Each trained model once, with its main version; only those that `organizationId` may call, or "all". */
export async function trainedModelMessages(
  reader: Reader,
  { now, organizationId }: { now: number; organizationId: string | undefined | "all" },
): Promise<ModelMessage[]> {
  const served = await servedModels(reader, now);
  return served.flatMap(({ model, versions, message }) => {
    const main = versions.find(({ version }) => version === mainVersion(model.traffic));
    const open = organizationsOf(model);
    const isShown = organizationId === "all" || open.length === 0 || (organizationId !== undefined && open.includes(organizationId));
    return main && isShown ? [{ ...message, trained: trainedMessage(model, main) }] : [];
  });
}

/** The provider of public trained models. Models of organizations are not counted, because even their number is private. */
export async function trainedProviders(reader: Reader): Promise<ProviderMessage[]> {
  const modelCount = await reader.count("trainedModels", { index: "byOpenName" });
  return modelCount === 0
    ? []
    : [{ id: TRAINED_KIND, name: TRAINED_KIND, kind: TRAINED_KIND, status: "unknown", modelCount, source: "training" }];
}

async function servedModels(reader: Reader, now: number): Promise<ServedModel[]> {
  const models = await collect(reader.scan("trainedModels"));
  return Promise.all(
    models.map(async (model) => {
      const [versions, prices] = await Promise.all([
        reader.getMany(
          "trainedVersions",
          model.traffic.map(({ version }) => `${model.id}/${version}`),
        ),
        collect(reader.scan("prices", { index: "byModel", equals: [model.id] })),
      ]);
      const writesText = model.type === "completion" || versions.some((version) => version?.servers !== undefined);
      const message: ModelMessage = {
        id: model.id,
        name: model.name,
        providerId: TRAINED_KIND,
        providerName: TRAINED_KIND,
        type: model.type,
        description: model.description,
        contextWindow: undefined,
        maxOutputTokens: OUTPUT_BYTES_MAX[writesText ? "text" : "label"],
        pricing: pricingMessage(priceAt(prices, now)),
        capabilities: [],
        supportedParams: [...supportedParams(TRAINED_KIND, { mode: model.type, model: model.name })],
        status: "active",
        createdAt: date(model.createdAt),
        updatedAt: date(model.updatedAt),
        limits: undefined,
        source: "training",
        inferenceModelId: `${model.name}@${mainVersion(model.traffic)}`,
      };
      return { model, versions: versions.filter((version) => version !== undefined), message };
    }),
  );
}

function organizationsOf({ visibility, organizationId, allowedOrganizationIds }: TrainedModel): string[] {
  return visibility === "public" ? [] : [organizationId, ...(visibility === "listed" ? allowedOrganizationIds : [])];
}

function manifestOf({ task, blob, builtin, servers }: Pick<TrainedVersion, "task" | "blob" | "builtin" | "servers">): Manifest {
  const parts = JSON.parse(task) as Manifest;
  return { ...parts, ...(blob === undefined ? {} : { blob }), ...(builtin === undefined ? {} : { builtin }), ...servedFrom(servers) };
}

function trainedMessage({ organizationId }: TrainedModel, { version, blob, task, lineage }: TrainedVersion): ModelMessage["trained"] {
  const { task: taskName } = JSON.parse(task) as { task: string };
  return { organizationId, task: taskName, version, blob, ...lineageFacts(lineage), lineageJson: lineage };
}
