import { toJson } from "../../../../common/json.ts";
import type { TrainedModel, TrainedVersion } from "../../../../proto/gen/tributary/training/v1/trained_models.ts";
import type { EdgeDeps } from "../../../deps.ts";
import { pageQuery } from "../../../schemas/fields.ts";
import * as schemas from "../../../schemas/platform/trained-models.ts";
import { readFields } from "../../../upstream/routing/lenient.ts";
import { type Operation, operation } from "../../middleware/operation.ts";
import { money, presentList, sent } from "../present.ts";
import { requireOwnBlob } from "./own-blob.ts";
import { requireServableBlob } from "./servable-blob.ts";

const tag = "Trained models";
const shared = { tag, auth: "user", apiKey: true } as const;

/** `/training/models`: versions of trained models, and their shares of traffic. */
export function trainedModelOperations(deps: EdgeDeps): Operation[] {
  return [publish(deps), list(deps), listVersions(deps), rollBack(deps), split(deps)];
}

const publish = (deps: EdgeDeps) =>
  operation({
    ...shared,
    method: "post",
    path: "/training/models",
    summary: "Publish parameters as the next version of a model; every edge serves it at once",
    body: schemas.publishBody,
    status: 201,
    answer: schemas.publishAnswer,
    handler: async ({ body }, call) => {
      const { task, lineage, pricing, ...fields } = body;
      const request = {
        ...fields,
        servingParticipantIds: [],
        taskJson: toJson(task),
        lineageJson: toJson(lineage),
        pricing: pricing && { unit: pricing.unit, input: BigInt(pricing.input), output: BigInt(pricing.output) },
      };
      await requireOwnBlob(deps, body.blob, call);
      await requireServableBlob(deps, { blob: body.blob, task: task.task, path: "body.blob" }, call);
      const { model, version } = await deps.control.trainedModels.publishVersion(request, call.write());
      return { model: presentModel(sent(model, "model")), version: presentVersion(sent(version, "version")) };
    },
  });

const list = ({ control }: EdgeDeps) =>
  operation({
    ...shared,
    method: "get",
    path: "/training/models",
    summary: "List the trained models of the active organization",
    query: pageQuery,
    status: 200,
    answer: schemas.listTrainedAnswer,
    handler: async ({ query }, call) => {
      const { models, meta } = await control.trainedModels.listTrainedModels({ page: query }, call.read());
      return presentList(models, meta, presentModel);
    },
  });

const listVersions = ({ control }: EdgeDeps) =>
  operation({
    ...shared,
    method: "get",
    path: "/training/models/:model/versions",
    summary: "List the versions of a trained model, newest first, with lineage and share of traffic",
    params: schemas.modelParams,
    query: pageQuery,
    status: 200,
    answer: schemas.listVersionsAnswer,
    handler: async ({ params, query }, call) => {
      const { model, versions, meta } = await control.trainedModels.listVersions({ ...params, page: query }, call.read());
      return { model: presentModel(sent(model, "model")), ...presentList(versions, meta, presentVersion) };
    },
  });

const rollBack = ({ control }: EdgeDeps) =>
  operation({
    ...shared,
    method: "post",
    path: "/training/models/:model/rollback",
    summary: "Roll back: send all calls to one version, by default the previous one",
    params: schemas.modelParams,
    body: schemas.rollBackBody,
    status: 200,
    answer: schemas.trainedModelAnswer,
    handler: async ({ params, body }, call) => {
      const { model } = await control.trainedModels.rollBack({ ...params, ...body }, call.write());
      return { model: presentModel(sent(model, "model")) };
    },
  });

const split = ({ control }: EdgeDeps) =>
  operation({
    ...shared,
    method: "post",
    path: "/training/models/:model/split",
    summary: "Set a version's share of traffic; the other versions share the rest",
    params: schemas.modelParams,
    body: schemas.splitBody,
    status: 200,
    answer: schemas.trainedModelAnswer,
    handler: async ({ params, body }, call) => {
      const { model } = await control.trainedModels.splitTraffic({ ...params, ...body }, call.write());
      return { model: presentModel(sent(model, "model")) };
    },
  });

export function presentModel(model: TrainedModel): schemas.TrainedModelRecord {
  const { id, name, organizationId, type, description, visibility, allowedOrganizationIds, latestVersion, pricing } = model;
  return {
    ...{ id, name, organizationId, type, description, visibility, allowedOrganizationIds, latestVersion },
    teamId: model.teamId ?? null,
    traffic: model.traffic.map(({ version, percent }) => ({ version, percent })),
    pricing: pricing
      ? { version: pricing.version, unit: pricing.unit, ...money("input", pricing.input), ...money("output", pricing.output) }
      : null,
    createdAt: sent(model.createdAt, "createdAt"),
    updatedAt: sent(model.updatedAt, "updatedAt"),
  };
}

export function presentVersion(version: TrainedVersion): schemas.TrainedVersionRecord {
  return {
    version: version.version,
    blob: version.blob === "" ? null : version.blob,
    format: version.format ?? null,
    task: readFields(version.taskJson),
    lineage: readFields(version.lineageJson),
    percent: version.percent,
    createdBy: version.createdBy === 0n ? null : version.createdBy,
    createdAt: sent(version.createdAt, "createdAt"),
    servedBy: version.servingParticipantIds,
  };
}
