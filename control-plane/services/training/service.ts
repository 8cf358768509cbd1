import { AppError } from "../../../common/errors.ts";
import type { ServiceHandlers } from "../../../common/grpc/server.ts";
import { newId } from "../../../common/ids.ts";
import { isOpen } from "../../../common/training/enrollment-settings.ts";
import type { FederationSettings } from "../../../common/training/federation-settings.ts";
import { NO_RECORD } from "../../../common/training/round-record.ts";
import {
  ControlFederationResponse,
  CreateFederationResponse,
  type TrainingServiceService,
} from "../../../proto/gen/tributary/training/v1/training.ts";
import type { Federation } from "../../domain/training-records.ts";
import { collect, readPage } from "../../stores/page.ts";
import { federationScope } from "../../stores/scopes.ts";
import { controlFederation, extendFederation, putFederation } from "../../writes/federations.ts";
import { enrollInner, withoutPlace } from "../../writes/inner-federations.ts";
import { requireEvaluationBudgets } from "../../writes/require-budgets.ts";
import { budgetScopes } from "../../writes/round-money.ts";
import type { ControlDeps } from "../deps.ts";
import { date, metaOf, pageOf } from "../messages.ts";
import { write } from "../write.ts";
import { requireManager, requirePayer, requireTrainingActor, requireVisible, teamForNew } from "./access.ts";
import { blobUseHandlers } from "./blob-uses.ts";
import { trainingBlobHandlers } from "./blobs.ts";
import { dataSetHandlers } from "./data-sets.ts";
import { enrollmentHandlers } from "./enrollment.ts";
import { requireInnerFederations } from "./inner-federations.ts";
import { federationMessage, fittingRounds } from "./messages.ts";
import { refusePrivateNames } from "./node-names.ts";
import { trainingNodeHandlers } from "./nodes.ts";
import { ownStrategyHandlers } from "./own-strategies.ts";
import { trainingParametersHandlers } from "./parameters.ts";
import { newJoinToken, newParticipants } from "./participants.ts";
import { refuseOperatorsNodes } from "./shared-nodes.ts";
import { trainingWorkHandlers } from "./work.ts";

const EVENTS_MAX = 500;
const ACTIONS = ["pause", "resume", "stop", "extend"] as const;
const BLOB = /^[0-9a-f]{64}$/;

type Handlers = ServiceHandlers<typeof TrainingServiceService>;

/** Handlers for federations: users and keys need a role in the team, coordinators a claim. */
export function trainingHandlers(deps: ControlDeps): Handlers {
  return {
    checkCaller: async (_request, context) => {
      await requireTrainingActor(deps, context);
      return {};
    },
    createFederation: createFederation(deps),
    listFederations: listFederations(deps),
    getFederation: getFederation(deps),
    listRounds: listRounds(deps),
    listEvents: listEvents(deps),
    controlFederation: changeState(deps),
    ...trainingNodeHandlers(deps),
    ...enrollmentHandlers(deps),
    ...trainingParametersHandlers(deps),
    ...dataSetHandlers(deps),
    ...ownStrategyHandlers(deps),
    ...blobUseHandlers(deps),
    ...trainingBlobHandlers(deps),
    ...trainingWorkHandlers(deps),
  };
}

const createFederation =
  (deps: ControlDeps): Handlers["createFederation"] =>
  async (request, context) => {
    const actor = await requireTrainingActor(deps, context);
    const team = await teamForNew(deps.store, actor, request.teamId);
    await requirePayer(deps.store, actor, { ...request, teamId: team.id });
    const { initialBlob = "" } = request;
    if (initialBlob !== "" && !BLOB.test(initialBlob)) throw new AppError("VALIDATION_ERROR", "The initial parameters are not a SHA-256.");
    const named = request.participants.map(({ url }, index) => ({ url, path: `body.participants.${index}.url` }));
    await refusePrivateNames(named, { allowPrivate: deps.config.allowPrivateNodes, clock: deps.clock });
    await refuseOperatorsNodes(named, deps.config);
    const id = newId("fed", deps);
    const inners = await requireInnerFederations(deps.store, { actor, request });
    const link = isOpen(JSON.parse(request.settings) as FederationSettings) ? newJoinToken(deps) : undefined;
    return write(
      deps,
      context,
      { actor: actor.person, codec: CreateFederationResponse, scopes: [id, ...inners].map(federationScope) },
      async ({ tx, now, audit }) => {
        const given = { team, given: request.participants, isOpen: link !== undefined };
        const { participants, joinTokens } = await newParticipants(deps, tx, given, now);
        await enrollInner(tx, { outerId: id, organizationId: team.organizationId, participants }, now);
        const hasRounds = (JSON.parse(request.settings) as FederationSettings).rounds !== 0;
        const federation: Federation = {
          id,
          name: request.name,
          organizationId: team.organizationId,
          teamId: team.id,
          createdBy: actor.userId,
          settings: request.settings,
          participants,
          ...(link ? { joinHash: link.joinHash } : {}),
          budgetNanoUsd: request.budgetNanoUsd,
          // Without rounds of its own it has nothing to do until it is extended, or until another federation runs its rounds.
          state: hasRounds ? "created" : "completed",
          round: 0,
          phase: "committed",
          head: { round: 0, recordHash: NO_RECORD, blob: initialBlob, stateBlob: "" },
          ...(initialBlob === "" ? {} : { initialBlob }),
          eventSeq: 0,
          ...(hasRounds ? { dueAt: now } : {}),
          createdAt: now,
          updatedAt: now,
        };
        const created = await putFederation(tx, federation, [{ type: "federation.created", data: { name: federation.name } }], now);
        await audit({
          action: "federation.create",
          target: federation.id,
          organizationId: team.organizationId,
          details: { name: request.name },
        });
        return { federation: federationMessage(created), joinTokens, joinLink: link?.token };
      },
    );
  };

const listFederations =
  (deps: ControlDeps): Handlers["listFederations"] =>
  async (request, context) => {
    const actor = await requireTrainingActor(deps, context);
    const visible = await actor.teamIds(deps.store);
    const page = pageOf(request.page);
    const { records, total } = await readPage(deps.store, "federations", {
      ...page,
      range: { index: "byOrganization", equals: [actor.organizationId], reverse: true },
      where: ({ teamId, state }) =>
        (visible === "all" || visible.has(teamId)) &&
        (request.state === undefined || request.state === state) &&
        (request.teamId === undefined || request.teamId === teamId),
    });
    return { federations: records.map((federation) => federationMessage(federation)), meta: metaOf(page, total) };
  };

const getFederation =
  (deps: ControlDeps): Handlers["getFederation"] =>
  async ({ id, replays }, context) => {
    const actor = await requireTrainingActor(deps, context);
    const found = await deps.store.get("federations", id);
    const { found: federation, role } = await requireVisible(deps.store, { actor, found, what: "federation" });
    if (replays) await requireEvaluationBudgets(deps.store, federation);
    return { federation: federationMessage(federation), role };
  };

const listRounds =
  (deps: ControlDeps): Handlers["listRounds"] =>
  async (request, context) => {
    const actor = await requireTrainingActor(deps, context);
    const found = await deps.store.get("federations", request.federationId);
    await requireVisible(deps.store, { actor, found, what: "federation" });
    const page = pageOf(request.page);
    const range = { index: "byFederation", equals: [request.federationId] } as const;
    const { records, total } = await readPage(deps.store, "trainingRounds", { ...page, range });
    return { rounds: fittingRounds(records.slice(Math.max(0, request.skip))), meta: metaOf(page, total) };
  };

const listEvents =
  (deps: ControlDeps): Handlers["listEvents"] =>
  async ({ federationId, after, limit }, context) => {
    const actor = await requireTrainingActor(deps, context);
    // The state is read before the events, so that an ended federation has no further events.
    const found = await deps.store.get("federations", federationId);
    const { found: federation } = await requireVisible(deps.store, { actor, found, what: "federation" });
    const events = await collect(
      deps.store.scan("federationEvents", {
        index: "byFederation",
        equals: [federationId],
        from: Number(after) + 1,
        limit: Math.min(Math.max(1, limit), EVENTS_MAX),
      }),
    );
    return {
      events: events.map(({ sequence, type, data, at }) => ({ sequence: BigInt(sequence), type, data, at: date(at) })),
      state: federation.state,
    };
  };

const changeState =
  (deps: ControlDeps): Handlers["controlFederation"] =>
  async (request, context) => {
    const action = ACTIONS.find((name) => name === request.action);
    if (!action) throw new AppError("VALIDATION_ERROR", "The action must be pause, resume, stop or extend.");
    const actor = await requireTrainingActor(deps, context);
    const scopes = await budgetScopes(deps.store, request.id);
    return write(deps, context, { actor: actor.person, codec: ControlFederationResponse, scopes }, async ({ tx, now, audit }) => {
      const given = await tx.get("federations", request.id);
      const { found: federation, role } = await requireVisible(tx, { actor, found: given, what: "federation" });
      requireManager(role);
      if (action === "extend" || action === "resume") await requirePayer(tx, actor, federation);
      const { rounds } = request;
      const changed =
        action === "extend"
          ? await extendFederation(tx, { federation: await withoutPlace(tx, federation), rounds: rounds ?? 0 }, now)
          : await controlFederation(tx, { federation, action }, now);
      const { organizationId, id: target } = federation;
      await audit({ action: `federation.${action}`, target, organizationId, ...(rounds === undefined ? {} : { details: { rounds } }) });
      return { federation: federationMessage(changed) };
    });
  };
