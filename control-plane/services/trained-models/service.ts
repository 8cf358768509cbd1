import { defined } from "../../../common/defined.ts";
import { AppError } from "../../../common/errors.ts";
import type { ServiceHandlers } from "../../../common/grpc/server.ts";
import { matchPattern } from "../../../common/match-pattern.ts";
import {
  PublishVersionResponse,
  RollBackResponse,
  SplitTrafficResponse,
  type TrainedModelServiceService,
} from "../../../proto/gen/tributary/training/v1/trained_models.ts";
import { manages } from "../../domain/permissions.ts";
import { mainVersion, withShare } from "../../domain/traffic.ts";
import type { ServingNodes, TrainedModel } from "../../domain/trained-records.ts";
import { collect, readPage } from "../../stores/page.ts";
import type { Reader } from "../../stores/store.ts";
import { changeTraffic, publishVersion } from "../../writes/trained-models.ts";
import type { ControlDeps } from "../deps.ts";
import { metaOf, pageOf } from "../messages.ts";
import { isPlatformAdmin, requireTrainingActor, type TrainingActor, teamForNew } from "../training/access.ts";
import { write } from "../write.ts";
import { trainedModelMessage, trainedVersionMessage } from "./messages.ts";
import { readPublication } from "./publish-request.ts";

type Handlers = ServiceHandlers<typeof TrainedModelServiceService>;

export function trainedModelHandlers(deps: ControlDeps): Handlers {
  return {
    publishVersion: publish(deps),
    listTrainedModels: listModels(deps),
    listVersions: listVersions(deps),
    rollBack: rollBack(deps),
    splitTraffic: splitTraffic(deps),
  };
}

const publish =
  (deps: ControlDeps): Handlers["publishVersion"] =>
  async (request, context) => {
    const actor = await requireTrainingActor(deps, context);
    const publication = readPublication(request);
    const { organizationId, teamId } = await publishTarget(deps.store, actor, request);
    return write(deps, context, { actor: actor.person, codec: PublishVersionResponse, scopes: "catalog" }, async ({ tx, now, audit }) => {
      const { name, task, blob, format, lineage, servers } = publication;
      const known = await tx.find("trainedModels", "byName", [organizationId, name]);
      if (known) await requireManager(tx, actor, known);
      const takenBy = modelOfFile(deps, name);
      if (takenBy !== undefined) throw taken(takenBy);
      if (publication.visibility === "public") requirePlatformAdmin(actor);
      await requireOrganizations(tx, publication.allowedOrganizationIds);
      if (servers) await requireServers(tx, servers, organizationId);
      const content = { task: JSON.stringify(task), blob, lineage, createdBy: actor.userId, ...defined({ format, servers }) };
      const version = { ...publication, organizationId, teamId, content, pricing: request.pricing };
      const published = await publishVersion(tx, deps, { known, version }, now);
      const { model } = published;
      const details = { name, version: published.version.version, blob, traffic: model.traffic, pricing: request.pricing };
      await audit({ action: "trained-model.publish", target: model.id, organizationId, details });
      return {
        model: await trainedModelMessage(tx, model, now),
        version: trainedVersionMessage(model, published.version),
      };
    });
  };

const listModels =
  (deps: ControlDeps): Handlers["listTrainedModels"] =>
  async (request, context) => {
    const actor = await requireTrainingActor(deps, context);
    const page = pageOf(request.page);
    const range = { index: "byOrganization", equals: [actor.organizationId] } as const;
    const { records, total } = await readPage(deps.store, "trainedModels", { ...page, range });
    const now = deps.clock.now();
    return { models: await Promise.all(records.map((model) => trainedModelMessage(deps.store, model, now))), meta: metaOf(page, total) };
  };

const listVersions =
  (deps: ControlDeps): Handlers["listVersions"] =>
  async (request, context) => {
    const actor = await requireTrainingActor(deps, context);
    const model = await requireModelOf(deps.store, actor, request);
    const page = pageOf(request.page);
    const range = { index: "byModel", equals: [model.id], reverse: true } as const;
    const { records, total } = await readPage(deps.store, "trainedVersions", { ...page, range });
    return {
      model: await trainedModelMessage(deps.store, model, deps.clock.now()),
      versions: records.map((version) => trainedVersionMessage(model, version)),
      meta: metaOf(page, total),
    };
  };

const rollBack =
  (deps: ControlDeps): Handlers["rollBack"] =>
  async (request, context) => {
    const actor = await requireTrainingActor(deps, context);
    return write(deps, context, { actor: actor.person, codec: RollBackResponse, scopes: "catalog" }, async ({ tx, now, audit }) => {
      const model = await requireModelOf(tx, actor, request);
      await requireManager(tx, actor, model);
      const version = request.version ?? mainVersion(model.traffic) - 1;
      if (version === 0) throw new AppError("VALIDATION_ERROR", "The model has no earlier version to roll back to.");
      await requireVersion(tx, model, version);
      const changed = await changeTraffic(tx, model, [{ version, percent: 100 }], now);
      const details = { name: model.name, before: model.traffic, traffic: changed.traffic };
      await audit({ action: "trained-model.roll-back", target: model.id, organizationId: model.organizationId, details });
      return { model: await trainedModelMessage(tx, changed, now) };
    });
  };

const splitTraffic =
  (deps: ControlDeps): Handlers["splitTraffic"] =>
  async (request, context) => {
    const actor = await requireTrainingActor(deps, context);
    const { version, percent } = request;
    if (!(percent >= 0 && percent <= 100)) throw refused("percent", "must be a whole number from 0 to 100");
    return write(deps, context, { actor: actor.person, codec: SplitTrafficResponse, scopes: "catalog" }, async ({ tx, now, audit }) => {
      const model = await requireModel(tx, actor, request.model);
      await requireManager(tx, actor, model);
      await requireVersion(tx, model, version);
      const changed = await changeTraffic(tx, model, withShare(model.traffic, { version, percent }), now);
      const details = { name: model.name, before: model.traffic, traffic: changed.traffic };
      await audit({ action: "trained-model.split", target: model.id, organizationId: model.organizationId, details });
      return { model: await trainedModelMessage(tx, changed, now) };
    });
  };

/**
 * The organization and team that a model is published for. Managers of the organization may publish for the whole organization, other
 * principals for a team that they manage: the named team, or their first one.
 */
async function publishTarget(
  reader: Reader,
  actor: TrainingActor,
  { organizationId = actor.organizationId, teamId }: { organizationId?: string | undefined; teamId?: string | undefined },
): Promise<{ organizationId: string; teamId: string | undefined }> {
  if (organizationId !== actor.organizationId) {
    requirePlatformAdmin(actor);
    if (!(await reader.get("organizations", organizationId))) throw new AppError("NOT_FOUND", "There is no such organization.");
  }
  if (teamId === undefined && (managesOrganization(actor) || isPlatformAdmin(actor))) return { organizationId, teamId };
  const team = await teamForNew(reader, actor, teamId ?? "");
  if (team.organizationId !== organizationId) throw new AppError("NOT_FOUND", "There is no such team.");
  return { organizationId, teamId: team.id };
}

/** Calls of the model go to these nodes, with the credentials that their federation has. */
async function requireServers(reader: Reader, { federationId, participantIds }: ServingNodes, organizationId: string): Promise<void> {
  const federation = await reader.get("federations", federationId);
  if (federation?.organizationId !== organizationId) throw new AppError("NOT_FOUND", "There is no such federation.");
  for (const [index, id] of participantIds.entries()) {
    const participant = federation.participants.find((one) => one.id === id);
    if (participant && participant.url !== "") continue;
    const message = participant ? "has no address to be called at" : "is not a participant of the federation";
    throw new AppError("VALIDATION_ERROR", `${id} ${message}.`, { details: [{ path: `body.servedBy.${index}`, message }] });
  }
}

/** The named model or, without a name, the model that the federation was published as: the newest, if there are several. */
async function requireModelOf(
  reader: Reader,
  actor: TrainingActor,
  { model: reference, federationId }: { model: string; federationId?: string | undefined },
): Promise<TrainedModel> {
  if (reference !== "" || federationId === undefined) return requireModel(reader, actor, reference);
  const models = await collect(reader.scan("trainedModels", { index: "byOrganization", equals: [actor.organizationId] }));
  for (const model of models.toSorted((left, right) => right.updatedAt - left.updatedAt)) {
    for await (const { lineage } of reader.scan("trainedVersions", { index: "byModel", equals: [model.id], reverse: true })) {
      if ((JSON.parse(lineage) as { federationId?: unknown }).federationId === federationId) return model;
    }
  }
  throw new AppError("NOT_FOUND", "The federation was not published as a model of this organization. Publish it first.");
}

/** Finds a model by id, or by name in the active organization. Models of other organizations are NOT_FOUND, except for platform admins. */
async function requireModel(reader: Reader, actor: TrainingActor, reference: string): Promise<TrainedModel> {
  const named = await reader.find("trainedModels", "byName", [actor.organizationId, reference]);
  const model = named ?? (await reader.get("trainedModels", reference));
  const isSeen = model && (model.organizationId === actor.organizationId || isPlatformAdmin(actor));
  if (!isSeen) throw new AppError("NOT_FOUND", "There is no such trained model.");
  return model;
}

async function requireManager(reader: Reader, actor: TrainingActor, model: TrainedModel): Promise<void> {
  if (isPlatformAdmin(actor) || (model.organizationId === actor.organizationId && managesOrganization(actor))) return;
  if (model.teamId !== undefined && manages(await actor.roleIn(reader, model.teamId))) return;
  const whose = model.teamId === undefined ? "the organization" : "its team or organization";
  throw new AppError("FORBIDDEN", `Only an owner or admin of ${whose} may change this model.`);
}

function managesOrganization({ person }: TrainingActor): boolean {
  return manages(person.organizationRole);
}

async function requireVersion(reader: Reader, model: TrainedModel, version: number): Promise<void> {
  if (!(await reader.get("trainedVersions", `${model.id}/${version}`)))
    throw new AppError("NOT_FOUND", `The model ${model.name} has no version ${version}; its newest is ${model.latestVersion}.`);
}

async function requireOrganizations(reader: Reader, ids: readonly string[]): Promise<void> {
  const found = await reader.getMany("organizations", [...ids]);
  const unknown = ids[found.indexOf(undefined)];
  if (unknown !== undefined) throw refused("allowedOrganizationIds", `contains ${unknown}, which is not an organization`);
}

function requirePlatformAdmin(actor: TrainingActor): void {
  if (!isPlatformAdmin(actor))
    throw new AppError("FORBIDDEN", "Only a platform administrator may publish public models or models of other organizations.");
}

/** The model of the configuration file that has this name, or whose wildcard stands for it. A bare `*` stands for all names and leaves them free. */
function modelOfFile({ gateway }: ControlDeps, name: string): string | undefined {
  const isTaken = (modelName: string) => modelName === name || (modelName !== "*" && matchPattern(modelName, name) !== undefined);
  return gateway.current.deployments.find(({ modelName }) => isTaken(modelName))?.modelName;
}

function taken(modelName: string): AppError {
  const message = `The configuration file has a model "${modelName}" already. Choose another name.`;
  return new AppError("ALREADY_EXISTS", message, { details: [{ path: "body.model", message: "is taken" }] });
}

function refused(field: string, message: string): AppError {
  return new AppError("VALIDATION_ERROR", `${field} ${message}`, { details: [{ path: `body.${field}`, message }] });
}
