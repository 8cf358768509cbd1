import { AppError } from "../../../../common/errors.ts";
import { toJson } from "../../../../common/json.ts";
import { FUNCTION_TASK } from "../../../../common/training/trained-manifest.ts";
import type { Federation, Round } from "../../../../proto/gen/tributary/training/v1/training.ts";
import { connectHolder } from "../../../access/clients/coordinator.ts";
import type { EdgeDeps } from "../../../deps.ts";
import { idParams } from "../../../schemas/fields.ts";
import * as trained from "../../../schemas/platform/trained-models.ts";
import * as schemas from "../../../schemas/platform/training.ts";
import { DEADLINE_MS, type Operation, type OperationCall, operation } from "../../middleware/operation.ts";
import { presentList, sent } from "../present.ts";
import { modelNameOf, taskOf } from "./present-training.ts";
import { eachRound } from "./read-rounds.ts";
import { isBuiltIn, refuse } from "./servable-blob.ts";
import { servingNodes } from "./serving-nodes.ts";
import { presentModel, presentVersion } from "./trained-models.ts";

const shared = { tag: "Training", auth: "user", apiKey: true, params: idParams } as const;

/** Federations as models of the gateway: publish a round, list versions, roll back. */
export function federationModelOperations(deps: EdgeDeps): Operation[] {
  return [publish(deps), versions(deps), rollBack(deps)];
}

const publish = (deps: EdgeDeps) =>
  operation({
    ...shared,
    method: "post",
    path: "/training/federations/:id/publish",
    summary: "Publish a committed round as the next version of a model, with its lineage; every edge serves it at once",
    body: schemas.publishFederationBody,
    status: 201,
    answer: trained.publishAnswer,
    handler: async ({ params, body }, call) => {
      const { round: wanted, model, labels, flagged, columns, pricing, servedBy, ...rest } = body;
      const federation = await federationOf(deps, params.id, call);
      const rounds = await committedRounds(deps, federation, call);
      const round = wanted === undefined ? rounds.at(-1) : rounds.find((entry) => entry.round === wanted);
      if (!round) throw notCommitted(wanted);
      const holder = connectHolder(deps.config, federation.holder);
      if (!(await holder.hasBlob(round.resultBlob, call.read()))) throw parametersGone(round.round);
      const servers = await servingNodes(deps, { federation, servedBy }, call);
      const task = servers.servingFederationId === undefined ? taskOf(federation) : FUNCTION_TASK;
      const servable = isBuiltIn(task) ? await holder.servable(round.resultBlob, task, call.read(DEADLINE_MS.verify)) : undefined;
      if (servable) refuse(servable, { task, path: "body.round" });
      const request = {
        ...rest,
        ...servers,
        model: model ?? modelNameOf(federation),
        teamId: federation.teamId,
        blob: round.resultBlob,
        taskJson: toJson({ task, labels, flagged, columns }),
        lineageJson: toJson(lineageOf(federation, round, rounds)),
        pricing: pricing && { unit: pricing.unit, input: BigInt(pricing.input), output: BigInt(pricing.output) },
      };
      const published = await deps.control.trainedModels.publishVersion(request, call.write());
      return { model: presentModel(sent(published.model, "model")), version: presentVersion(sent(published.version, "version")) };
    },
  });

const versions = (deps: EdgeDeps) =>
  operation({
    ...shared,
    method: "get",
    path: "/training/federations/:id/versions",
    summary: "List the versions of a federation's published model, newest first",
    query: schemas.versionsQuery,
    status: 200,
    answer: trained.listVersionsAnswer,
    handler: async ({ params, query: { model: name, ...page } }, call) => {
      const federation = await federationOf(deps, params.id, call);
      const request = { model: name ?? "", federationId: federation.id, page };
      const { model, versions: found, meta } = await deps.control.trainedModels.listVersions(request, call.read());
      return { model: presentModel(sent(model, "model")), ...presentList(found, meta, presentVersion) };
    },
  });

const rollBack = (deps: EdgeDeps) =>
  operation({
    ...shared,
    method: "post",
    path: "/training/federations/:id/rollback",
    summary: "Roll back: send all calls to an earlier version, by default the previous one",
    body: schemas.rollbackFederationBody,
    status: 200,
    answer: trained.trainedModelAnswer,
    handler: async ({ params, body: { model: name, version } }, call) => {
      const federation = await federationOf(deps, params.id, call);
      const request = { model: name ?? "", federationId: federation.id, version };
      const { model } = await deps.control.trainedModels.rollBack(request, call.write());
      return { model: presentModel(sent(model, "model")) };
    },
  });

async function federationOf({ control }: EdgeDeps, id: string, call: OperationCall): Promise<Federation> {
  return sent((await control.training.getFederation({ id }, call.read())).federation, "federation");
}

async function committedRounds(deps: EdgeDeps, { id }: Federation, call: OperationCall): Promise<Round[]> {
  const rounds: Round[] = [];
  for await (const round of eachRound(deps, id, call)) if (round.state === "committed") rounds.push(round);
  return rounds;
}

function lineageOf({ id, headRound }: Federation, round: Round, rounds: readonly Round[]): Record<string, unknown> {
  const { recordHash, accuracy } = round;
  const participants = round.participants.filter(({ state }) => state === "accepted").length;
  const curve = rounds.flatMap((entry) => (entry.round <= round.round && entry.accuracy !== undefined ? [entry.accuracy] : []));
  return { federationId: id, round: round.round, of: headRound, recordHash, participants, accuracy, curve };
}

/** Without its parameters no node could serve the model. */
function parametersGone(round: number): AppError {
  return new AppError("NOT_FOUND", `The coordinator no longer has the parameters of round ${round}; publish another round.`, {
    details: [{ path: "body.round", message: "no longer has parameters" }],
  });
}

function notCommitted(round: number | undefined): AppError {
  if (round === undefined)
    return new AppError("VALIDATION_ERROR", "The federation has committed no round yet; there is nothing to publish.");
  return new AppError("VALIDATION_ERROR", `Round ${round} has not been committed.`, {
    details: [{ path: "body.round", message: "is not a committed round" }],
  });
}
