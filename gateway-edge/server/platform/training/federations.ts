import { AppError } from "../../../../common/errors.ts";
import { ownStrategy } from "../../../../common/strategies/shared/own-strategy.ts";
import { findStrategy, strategyProblems } from "../../../../common/strategies/shared/registry.ts";
import type { GivenStrategy } from "../../../../common/strategies/shared/strategy.ts";
import { evaluationOf } from "../../../../common/training/evaluation-rules.ts";
import { federationWarnings } from "../../../../common/training/federation-warnings.ts";
import type { Selection } from "../../../../common/training/selection-settings.ts";
import { filledStrategy } from "../../../../common/training/strategy-task.ts";
import { connectHolder } from "../../../access/clients/coordinator.ts";
import type { EdgeDeps } from "../../../deps.ts";
import { idParams, pageQuery } from "../../../schemas/fields.ts";
import * as schemas from "../../../schemas/platform/training.ts";
import { ContentStream } from "../../middleware/content-stream.ts";
import { DEADLINE_MS, type Operation, type OperationCall, operation } from "../../middleware/operation.ts";
import { presentList, sent } from "../present.ts";
import { federationEvents, sequenceOf } from "./federation-events.ts";
import { initialBlobOf } from "./initial-blob.ts";
import { presentFederation, presentRound } from "./present-training.ts";
import { readRounds } from "./read-rounds.ts";
import { refuseUnable } from "./refuse-unable.ts";

const tag = "Training";
const path = "/training/federations";

export function federationOperations(deps: EdgeDeps): Operation[] {
  return [
    createFederation(deps),
    listFederations(deps),
    getFederation(deps),
    listRounds(deps),
    followEvents(deps),
    change(deps, "pause", "Pause a federation; the open round keeps its updates"),
    change(deps, "resume", "Resume a paused federation"),
    change(deps, "stop", "Stop a federation permanently; the budget of the open round is released"),
    extend(deps),
    verify(deps),
    replay(deps),
  ];
}

const createFederation = (deps: EdgeDeps) =>
  operation({
    method: "post",
    path,
    summary: "Create a federation; its rounds start by themselves",
    tag,
    auth: "user",
    apiKey: true,
    body: schemas.createFederationBody,
    status: 201,
    answer: schemas.createdFederationAnswer,
    handler: async ({ body: given }, call) => {
      const body = { ...given, strategy: filledStrategy(given) };
      const { name, teamId = "", participants, budgetNanoUsd, waits, ...asked } = body;
      const settings = {
        ...asked,
        ...(waits ? { rounds: 0 } : {}),
        eval: evaluationOf(body),
        ...(asked.selection ? { selection: await withOwnFunction(deps, asked.selection, call) } : {}),
        strategy: await withOwnStrategy(deps, asked.strategy, call),
      };
      await refuseUnable(deps, body, call);
      const initialBlob = await initialBlobOf(deps, body, call);
      const {
        federation,
        joinTokens,
        joinLink = null,
      } = await deps.control.training.createFederation(
        {
          name: name ?? settings.task.name,
          teamId,
          settings: JSON.stringify(settings),
          participants: participants.map(({ url = "", join = false, federation, innerRounds = 1, dataset, ...rest }) => ({
            url,
            join,
            inner: federation === undefined ? undefined : { federationId: federation, rounds: innerRounds },
            organizationId: rest.organizationId,
            secret: rest.secret,
            token: rest.token,
            dataset: dataset === undefined ? "" : JSON.stringify(dataset),
          })),
          budgetNanoUsd: BigInt(budgetNanoUsd),
          initialBlob,
        },
        call.write(),
      );
      return { federation: presentFederation(sent(federation, "federation")), joinTokens, joinLink, warnings: federationWarnings(body) };
    },
  });

/** The federation gets a copy of an own strategy, so that its rounds do not change with the organization's. */
async function withOwnStrategy({ control }: EdgeDeps, given: GivenStrategy, call: OperationCall): Promise<GivenStrategy> {
  if (findStrategy(given.name)) return given;
  const { strategy } = await control.training.getStrategy({ name: given.name }, call.read()).catch((thrown: unknown) => {
    if (!(thrown instanceof AppError) || thrown.code !== "NOT_FOUND") throw thrown;
    const [{ message = "" } = {}] = strategyProblems(given);
    const details = [
      { path: "body.strategy.name", message: `${message}, or an own strategy of the organization (POST /training/strategies)` },
    ];
    throw new AppError("VALIDATION_ERROR", `The request is not valid: body.strategy.name: ${details[0]?.message}`, { details });
  });
  const { language, source } = sent(strategy, "strategy");
  return { ...given, own: { language, source } };
}

/** The same for the function that selects the participants of its rounds. */
async function withOwnFunction({ control }: EdgeDeps, given: Selection, call: OperationCall): Promise<Selection> {
  if (given.function === undefined) return given;
  const { strategy } = await control.training.getStrategy({ name: given.function }, call.read()).catch((thrown: unknown) => {
    if (!(thrown instanceof AppError) || thrown.code !== "NOT_FOUND") throw thrown;
    const message = "must be the name of an own function of the organization (POST /training/strategies)";
    const details = [{ path: "body.selection.function", message }];
    throw new AppError("VALIDATION_ERROR", `The request is not valid: body.selection.function: ${message}`, { details });
  });
  const { language, source } = sent(strategy, "strategy");
  return { ...given, own: ownStrategy.parse({ language, source }) };
}

const listFederations = ({ control }: EdgeDeps) =>
  operation({
    method: "get",
    path,
    summary: "List the federations of the caller's teams, newest first",
    tag,
    auth: "user",
    apiKey: true,
    query: schemas.federationsQuery,
    status: 200,
    answer: schemas.listFederationsAnswer,
    handler: async ({ query: { page, pageSize, state, team_id: teamId } }, call) => {
      const { federations, meta } = await control.training.listFederations({ page: { page, pageSize }, state, teamId }, call.read());
      return presentList(federations, meta, presentFederation);
    },
  });

const getFederation = ({ control }: EdgeDeps) =>
  operation({
    method: "get",
    path: `${path}/:id`,
    summary: "Retrieve a federation: its state, and what it waits for",
    tag,
    auth: "user",
    apiKey: true,
    params: idParams,
    status: 200,
    answer: schemas.federationAnswer,
    handler: async ({ params }, call) => {
      const { federation } = await control.training.getFederation(params, call.read());
      return { federation: presentFederation(sent(federation, "federation")) };
    },
  });

const listRounds = (deps: EdgeDeps) =>
  operation({
    method: "get",
    path: `${path}/:id/rounds`,
    summary: "List the rounds of a federation with contributions, round records and rewards",
    tag,
    auth: "user",
    apiKey: true,
    params: idParams,
    query: pageQuery,
    status: 200,
    answer: schemas.listRoundsAnswer,
    handler: async ({ params, query }, call) => {
      const { rounds, meta } = await readRounds(deps, { federationId: params.id, page: query }, call);
      return presentList(rounds, meta, presentRound);
    },
  });

const followEvents = (deps: EdgeDeps) =>
  operation({
    method: "get",
    path: `${path}/:id/events`,
    summary: "Stream a federation's events as server-sent events, from the first one or after the given one, until it ends",
    tag,
    auth: "user",
    apiKey: true,
    params: idParams,
    query: schemas.eventsQuery,
    status: 200,
    answer: schemas.eventsAnswer,
    handler: async ({ params, query }, call) =>
      new ContentStream({
        contentType: "text/event-stream; charset=utf-8",
        parts: federationEvents(deps, {
          federationId: params.id,
          after: query.after ?? sequenceOf(call.lastEventId),
          options: call.read(),
        }),
      }),
  });

const change = ({ control }: EdgeDeps, action: "pause" | "resume" | "stop", summary: string) =>
  operation({
    method: "post",
    path: `${path}/:id/${action}`,
    summary,
    tag,
    auth: "user",
    apiKey: true,
    params: idParams,
    status: 200,
    answer: schemas.federationAnswer,
    handler: async ({ params }, call) => {
      const { federation } = await control.training.controlFederation({ id: params.id, action }, call.write());
      return { federation: presentFederation(sent(federation, "federation")) };
    },
  });

const extend = ({ control }: EdgeDeps) =>
  operation({
    method: "post",
    path: `${path}/:id/extend`,
    summary: "Add rounds to a federation; one that has completed or failed continues from its last committed round",
    tag,
    auth: "user",
    apiKey: true,
    params: idParams,
    body: schemas.extendBody,
    status: 200,
    answer: schemas.federationAnswer,
    handler: async ({ params, body }, call) => {
      const request = { id: params.id, action: "extend", rounds: body.rounds };
      const { federation } = await control.training.controlFederation(request, call.write());
      return { federation: presentFederation(sent(federation, "federation")) };
    },
  });

const verify = ({ control, config }: EdgeDeps) =>
  operation({
    method: "get",
    path: `${path}/:id/verify`,
    summary: "Verify a federation: the chain of round records, the bytes behind every hash, and every aggregation",
    tag,
    auth: "user",
    apiKey: true,
    params: idParams,
    status: 200,
    answer: schemas.verifyAnswer,
    handler: async ({ params }, call) => {
      const read = call.read(DEADLINE_MS.verify);
      const { federation } = await control.training.getFederation(params, read);
      const { ok, rounds, remade, firstBad } = await connectHolder(config, sent(federation, "federation").holder).verify(params.id, read);
      return { ok, rounds, remade, firstBad };
    },
  });

const replay = ({ control, config }: EdgeDeps) =>
  operation({
    method: "post",
    path: `${path}/:id/replays`,
    summary: "Replay a federation's rounds from their stored updates with another strategy and compare; changes nothing",
    tag,
    auth: "user",
    apiKey: true,
    params: idParams,
    body: schemas.replayBody,
    status: 200,
    answer: schemas.replayAnswer,
    handler: async ({ params, body }, call) => {
      const read = call.read(DEADLINE_MS.verify);
      const { federation } = await control.training.getFederation({ ...params, replays: true }, read);
      const { strategy, rounds } = await connectHolder(config, sent(federation, "federation").holder).replay(params.id, body, read);
      return { strategy: { ...strategy, name: String(strategy["name"]) }, rounds };
    },
  });
