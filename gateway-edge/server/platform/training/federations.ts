import type { z } from "zod";
import { AppError } from "../../../../common/errors.ts";
import { inabilityText, needsOf } from "../../../../common/federation-needs.ts";
import { connectCoordinator } from "../../../access/clients/coordinator.ts";
import type { EdgeDeps } from "../../../deps.ts";
import { idParams, pageQuery } from "../../../schemas/fields.ts";
import * as schemas from "../../../schemas/platform/training.ts";
import { DEADLINE_MS, type Operation, type OperationCall, operation } from "../../middleware/operation.ts";
import { TextStream } from "../../middleware/text-stream.ts";
import { presentList, sent } from "../present.ts";
import { federationEvents, placeOf } from "./federation-events.ts";
import { presentFederation, presentRound } from "./present-training.ts";

const tag = "Training";
const path = "/training/federations";

export function federationOperations(deps: EdgeDeps): Operation[] {
  return [
    createFederation(deps),
    listFederations(deps),
    getFederation(deps),
    listRounds(deps),
    followEvents(deps),
    change(deps, "pause", "Pause: the open round keeps the updates it has"),
    change(deps, "resume", "Go on where it was paused"),
    change(deps, "stop", "Stop for good; what was set aside for the open round is given back"),
    verify(deps),
    replay(deps),
  ];
}

const createFederation = (deps: EdgeDeps) =>
  operation({
    method: "post",
    path,
    summary: "Train together: rounds run by themselves from here on",
    tag,
    auth: "user",
    apiKey: true,
    body: schemas.createFederationBody,
    status: 201,
    answer: schemas.createdFederationAnswer,
    handler: async ({ body }, call) => {
      const { name, teamId = "", participants, budgetNanoUsd, ...settings } = body;
      await refuseUnable(deps, body, call);
      const { federation, joinTokens } = await deps.control.training.createFederation(
        {
          name: name ?? settings.task.name,
          teamId,
          settings: JSON.stringify(settings),
          participants: participants.map(({ url = "", join = false, dataset, ...rest }) => ({
            url,
            join,
            organizationId: rest.organizationId,
            secret: rest.secret,
            token: rest.token,
            dataset: dataset === undefined ? "" : JSON.stringify(dataset),
          })),
          budgetNanoUsd: BigInt(budgetNanoUsd),
        },
        call.write(),
      );
      return { federation: presentFederation(sent(federation, "federation")), joinTokens };
    },
  });

/** Participants that cannot honor the federation's privacy or strategy are refused now, not when its first round begins. */
async function refuseUnable(
  { control, config }: EdgeDeps,
  { participants, ...settings }: z.infer<typeof schemas.createFederationBody>,
  call: OperationCall,
): Promise<void> {
  const needs = needsOf(settings);
  if (needs.length === 0) return;
  // Addresses are looked at for callers that are known, and for no others.
  await control.training.checkCaller({}, call.read());
  const asked = { participants: participants.map(({ url = "", token = "" }) => ({ url, token })), needs };
  // A coordinator that is away finds out by itself, when it is back.
  const cannot = await connectCoordinator(config)
    .unable(asked, call.read())
    .catch(() => []);
  const details = cannot.map(({ index, missing }) => ({
    path: `body.participants.${index}.url`,
    message: `${participants[index]?.url} ${inabilityText(missing, settings)}`,
  }));
  const [first] = details;
  if (first) throw new AppError("VALIDATION_ERROR", `The request is not valid: ${first.path}: ${first.message}`, { details });
}

const listFederations = ({ control }: EdgeDeps) =>
  operation({
    method: "get",
    path,
    summary: "The federations of the caller's teams, newest first",
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
    summary: "A federation: where it stands, and what it waits for",
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

const listRounds = ({ control }: EdgeDeps) =>
  operation({
    method: "get",
    path: `${path}/:id/rounds`,
    summary: "Its rounds in order: who gave what, the chained record, what was paid",
    tag,
    auth: "user",
    apiKey: true,
    params: idParams,
    query: pageQuery,
    status: 200,
    answer: schemas.listRoundsAnswer,
    handler: async ({ params, query }, call) => {
      const { rounds, meta } = await control.training.listRounds({ federationId: params.id, page: query }, call.read());
      return presentList(rounds, meta, presentRound);
    },
  });

const followEvents = (deps: EdgeDeps) =>
  operation({
    method: "get",
    path: `${path}/:id/events`,
    summary: "What happens to it, as server-sent events from the first on, or after the one named; ends when the federation has",
    tag,
    auth: "user",
    apiKey: true,
    params: idParams,
    query: schemas.eventsQuery,
    status: 200,
    answer: schemas.eventsAnswer,
    handler: async ({ params, query }, call) =>
      new TextStream({
        contentType: "text/event-stream; charset=utf-8",
        parts: federationEvents(deps, { federationId: params.id, after: query.after ?? placeOf(call.lastEventId), options: call.read() }),
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

const verify = ({ control, config }: EdgeDeps) =>
  operation({
    method: "get",
    path: `${path}/:id/verify`,
    summary: "Check its history: the chain of records, the bytes behind every hash, every aggregation made again",
    tag,
    auth: "user",
    apiKey: true,
    params: idParams,
    status: 200,
    answer: schemas.verifyAnswer,
    handler: async ({ params }, call) => {
      const read = call.read(DEADLINE_MS.verify);
      await control.training.getFederation(params, read);
      const { ok, rounds, remade, firstBad } = await connectCoordinator(config).verify(params.id, read);
      return { ok, rounds, remade, firstBad };
    },
  });

const replay = ({ control, config }: EdgeDeps) =>
  operation({
    method: "post",
    path: `${path}/:id/replays`,
    summary: "Time travel: make its rounds again from their stored updates with another strategy, and compare; nothing of it is changed",
    tag,
    auth: "user",
    apiKey: true,
    params: idParams,
    body: schemas.replayBody,
    status: 200,
    answer: schemas.replayAnswer,
    handler: async ({ params, body }, call) => {
      const read = call.read(DEADLINE_MS.verify);
      await control.training.getFederation(params, read);
      const { strategy, rounds } = await connectCoordinator(config).replay(params.id, body, read);
      return { strategy: { ...strategy, name: String(strategy["name"]) }, rounds };
    },
  });
