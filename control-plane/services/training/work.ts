import { defined } from "../../../common/defined.ts";
import { AppError } from "../../../common/errors.ts";
import type { ServiceHandlers } from "../../../common/grpc/server.ts";
import { NO_RECORD, type RoundRecord } from "../../../common/training/round-record.ts";
import type { TrainingServiceService } from "../../../proto/gen/tributary/training/v1/training.ts";
import { type Withhold, withheldPayment } from "../../credit/withheld-payment.ts";
import { stateAfter } from "../../domain/federation-state.ts";
import type { Federation } from "../../domain/training-records.ts";
import { collect } from "../../stores/page.ts";
import { federationScope } from "../../stores/scopes.ts";
import type { Transaction } from "../../stores/store.ts";
import { continueExtended, endFederation, putFederation, roundsOf, setInitial } from "../../writes/federations.ts";
import { requireInner, runInnerRounds } from "../../writes/inner-federations.ts";
import { requireBudgets } from "../../writes/require-budgets.ts";
import { budgetScopes } from "../../writes/round-money.ts";
import { commitRound, openRound, recordResult, reportProgress, setPhase } from "../../writes/rounds.ts";
import type { ControlDeps } from "../deps.ts";
import { claimHandlers } from "./claims.ts";
import { federationMessage, fittingRounds, readEvaluation, readResult, roundMessage } from "./messages.ts";
import { type Step, stepOf } from "./step.ts";

const HISTORY_MAX = 100;
const BLOB = /^[0-9a-f]{64}$/;

type Handlers = ServiceHandlers<typeof TrainingServiceService>;
type WorkMethod =
  | "claimFederations"
  | "renewFederation"
  | "releaseFederation"
  | "reportWaiting"
  | "setInitial"
  | "openRound"
  | "recordResult"
  | "reportProgress"
  | "setPhase"
  | "commitRound"
  | "endFederation"
  | "runInnerRounds"
  | "getHistory"
  | "getWork";

/** Handlers for coordinators. Every write is one transaction that first checks the claim. */
export function trainingWorkHandlers(deps: ControlDeps): Pick<Handlers, WorkMethod> {
  const { store } = deps;
  const step = stepOf(deps);
  return {
    ...claimHandlers(deps, step),

    async reportWaiting(request) {
      const { waitingFor, until } = request;
      const waiting = await step(request, async (tx, federation, now) => {
        const state = stateAfter(federation.state, "wait");
        const next = { ...federation, state, waitingFor, ...(until ? { waitingUntil: until.getTime() } : {}) };
        // Coordinators report repeatedly; only a new reason writes an event.
        const isNew = federation.waitingFor !== waitingFor || federation.state !== state;
        const data = { waitingFor, until: until?.toISOString() };
        return putFederation(tx, next, isNew ? [{ type: "federation.waiting", data }] : [], now);
      });
      return { federation: federationMessage(waiting, deps) };
    },

    async setInitial(request) {
      const { blob, start } = request;
      const started = await step(request, async (tx, federation, now) => {
        // A budget may have been set while a participant trained them: then they are not stored.
        await requireBudgets(tx, federation);
        return setInitial(tx, { federation, blob, start }, now);
      });
      return { blob: started.head.blob, start: started.initialStart ?? "" };
    },

    ...roundHandlers(deps, step),

    async endFederation(request) {
      const state = request.state === "completed" ? "completed" : "failed";
      const { failure, rounds } = request;
      const outcome = { state, ...(failure ? { failure } : {}) } as const;
      const isExtended = (federation: Federation) => state === "completed" && rounds !== undefined && rounds !== roundsOf(federation);
      await step(
        request,
        (tx, federation, now) =>
          isExtended(federation) ? continueExtended(tx, federation, now) : endFederation(tx, { federation, outcome }, now),
        budgetScopes,
      );
      return {};
    },

    async runInnerRounds({ federationId, participantId, round, parameters }) {
      if (parameters !== "" && !BLOB.test(parameters)) throw new AppError("VALIDATION_ERROR", "The parameters are not a SHA-256.");
      const { outer, inner } = await requireInner(store, { federationId, participantId, round });
      const asked = { outer, participantId, round, parameters, ...inner };
      await store.transaction(federationScope(inner.federationId), (tx) => runInnerRounds(tx, asked, deps.clock.now()));
      return {};
    },

    async getWork({ federationId }) {
      const found = await store.get("federations", federationId);
      if (!found) throw new AppError("NOT_FOUND", "There is no such federation.");
      return { federation: federationMessage(found, deps) };
    },

    async getHistory({ federationId, after, limit }) {
      const range = {
        index: "byFederation",
        equals: [federationId],
        from: after + 1,
        limit: Math.min(Math.max(1, limit), HISTORY_MAX),
      } as const;
      const rounds = await collect(store.scan("trainingRounds", range));
      return { rounds: fittingRounds(rounds.filter(({ state }) => state === "committed")) };
    },
  };
}

function roundHandlers(
  deps: ControlDeps,
  step: Step,
): Pick<Handlers, "openRound" | "recordResult" | "reportProgress" | "setPhase" | "commitRound"> {
  return {
    async openRound(request) {
      const { participantIds } = request;
      const open = (withhold: Withhold) =>
        step(
          request,
          (tx, federation, now) => {
            const reserved = withhold(federation.organizationId, federation.budgetNanoUsd);
            return openRound(tx, { federation, participantIds, reserved }, now);
          },
          budgetScopes,
        );
      return { round: roundMessage(await withheldPayment(deps.reservations, open)) };
    },

    async recordResult(request) {
      const { result } = request;
      if (!result) throw new AppError("VALIDATION_ERROR", "The request has no result.");
      const round = await step(request, (tx, federation, now) =>
        recordResult(tx, { federation, round: request.round, result: readResult(result) }, now),
      );
      return { round: roundMessage(round) };
    },

    async reportProgress(request) {
      const { round, progress } = request;
      await step(request, (tx, federation) => reportProgress(tx, { federation, round, progress }));
      return {};
    },

    async setPhase(request) {
      const { round, phase } = request;
      await step(request, (tx, federation, now) => setPhase(tx, { federation, round, phase }, now));
      return {};
    },

    async commitRound(request) {
      const record = readRecord(request.record);
      const { accuracy, loss, epsilon } = request;
      const { record: recordText, stateBlob } = request;
      const participants = request.participants.map(readResult);
      const evaluations = request.evaluations.map(readEvaluation);
      const figures = defined({ accuracy, loss, epsilon });
      const commit = (tx: Transaction, found: Federation, now: number) =>
        commitRound(tx, { federation: found, record, recordText, stateBlob, participants, evaluations, figures }, now);
      const federation = await step(request, commit, budgetScopes);
      return { federation: federationMessage(federation, deps) };
    },
  };
}

function readRecord(text: string): RoundRecord {
  const record = JSON.parse(text) as RoundRecord;
  const isWhole = typeof record.round === "number" && (record.previous ?? "").length === NO_RECORD.length && Array.isArray(record.updates);
  if (!isWhole || typeof record.result !== "string")
    throw new AppError("VALIDATION_ERROR", "The round record lacks round, previous, updates or result.");
  return record;
}
