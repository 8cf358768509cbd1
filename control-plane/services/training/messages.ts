import { defined } from "../../../common/defined.ts";
import { type OwnStrategy, ownOf, sourceHash } from "../../../common/strategies/shared/own-strategy.ts";
import type { GivenStrategy } from "../../../common/strategies/shared/strategy.ts";
import { readMetrics } from "../../../common/training/metrics.ts";
import type { Selection } from "../../../common/training/selection-settings.ts";
import type { RoundEvaluation as RoundEvaluationMessage } from "../../../proto/gen/tributary/training/v1/metrics.ts";
import {
  type Federation as FederationMessage,
  type Node as NodeMessage,
  Round as RoundMessage,
  type RoundParticipant as RoundParticipantMessage,
} from "../../../proto/gen/tributary/training/v1/training.ts";
import type {
  Federation,
  FederationParticipant,
  RoundEvaluation,
  RoundParticipant,
  TrainerNode,
  TrainingRound,
} from "../../domain/training-records.ts";
import type { ControlDeps } from "../deps.ts";
import { date, optionalDate } from "../messages.ts";
import { sharedCredentials } from "./shared-nodes.ts";

/** What the credentials for calls to participants are read from. */
type Credentials = Pick<ControlDeps, "secrets" | "config">;

/** With `credentials` the message is for a coordinator and contains the credentials for calls to participants. */
export function federationMessage(federation: Federation, credentials?: Credentials): FederationMessage {
  const { head } = federation;
  return {
    id: federation.id,
    name: federation.name,
    organizationId: federation.organizationId,
    teamId: federation.teamId,
    createdBy: BigInt(federation.createdBy),
    settings: credentials ? federation.settings : shownSettings(federation.settings),
    participants: federation.participants.map((participant) => ({
      ...participantMessage(participant),
      ...(credentials && credentialsOf(participant, { ...credentials, tenantId: federation.organizationId })),
    })),
    state: federation.state,
    phase: federation.phase,
    round: federation.round,
    waitingFor: federation.waitingFor,
    waitingUntil: optionalDate(federation.waitingUntil),
    headRound: head.round,
    headRecordHash: head.recordHash,
    headBlob: credentials ? baseOf(federation) : head.blob,
    headStateBlob: head.stateBlob,
    accuracy: head.accuracy,
    epsilon: federation.epsilon,
    spentRounds: federation.spentRounds ?? 0,
    failure: federation.failure,
    budgetNanoUsd: federation.budgetNanoUsd,
    createdAt: date(federation.createdAt),
    updatedAt: date(federation.updatedAt),
    holder: federation.holder ?? "",
    initialBlob: federation.initialBlob ?? "",
    initialStart: federation.initialStart ?? "",
    extendedAt: federation.extendedAt ?? 0,
    outer: federation.outer,
    noiseKey: credentials ? noiseKeyOf(federation, credentials) : Buffer.alloc(0),
  };
}

/** The same for every coordinator that makes a round of the federation, so that its noise is, too. */
const noiseKeyOf = ({ id }: Federation, { secrets }: Credentials): Buffer => Buffer.from(secrets.tokenHash(`training noise/${id}`), "hex");

/** The parameters that the next round begins with: those of the outer federation in the first round that trains for it. */
function baseOf({ head, outer, extendedAt = 0 }: Federation): string {
  const isFromOuter = outer !== undefined && outer.parameters !== "" && head.round === extendedAt;
  return isFromOuter ? outer.parameters : head.blob;
}

/** Settings with the hash of an own strategy in place of its source, because a page of federations has to fit one message. */
function shownSettings(settings: string): string {
  if (!settings.includes('"own":')) return settings;
  const { strategy, selection, ...rest } = JSON.parse(settings) as { strategy: GivenStrategy; selection?: Selection };
  return JSON.stringify({
    ...rest,
    strategy: withoutSource(strategy, ownOf(strategy)),
    ...(selection ? { selection: withoutSource(selection, selection.own) } : {}),
  });
}

function withoutSource<Given extends object>(given: Given, own: OwnStrategy | undefined): object {
  return own ? { ...given, own: { language: own.language, sha256: sourceHash(own.source) } } : given;
}

type ParticipantMessage = FederationMessage["participants"][number];

function participantMessage({ maxSamples, ...given }: FederationParticipant): ParticipantMessage {
  const { id, nodeId, url, organizationId, dataset, joined, inner } = given;
  const agreed = maxSamples === undefined ? undefined : BigInt(maxSamples);
  return { id, nodeId, url, organizationId, dataset, joined, inner, maxSamples: agreed, secret: "", token: "", tenantId: "" };
}

function credentialsOf(
  { url, sealedSecret, sealedToken }: FederationParticipant,
  { secrets, config, tenantId }: Credentials & { tenantId: string },
): Pick<ParticipantMessage, "secret" | "token" | "tenantId"> {
  const shared = sharedCredentials(config, url);
  const token = sealedToken === undefined ? (shared.token ?? "") : secrets.open(sealedToken).toString();
  return { secret: shared.secret ?? secrets.open(sealedSecret).toString(), token, tenantId };
}

export function roundMessage(round: TrainingRound): RoundMessage {
  return {
    federationId: round.federationId,
    round: round.round,
    state: round.state,
    participants: round.participants.map((participant) => ({
      ...participant,
      samples: participant.samples === undefined ? undefined : BigInt(participant.samples),
      bytes: BigInt(participant.bytes),
      durationMs: BigInt(participant.durationMs),
      norm: participant.norm,
      cosine: participant.cosine,
      kept: participant.kept,
      metrics: { ...participant.metrics },
      progress: participant.progress,
    })),
    record: round.record,
    recordHash: round.recordHash,
    resultBlob: round.resultBlob,
    accuracy: round.accuracy,
    loss: round.loss,
    epsilon: round.epsilon,
    budgetNanoUsd: round.budgetNanoUsd,
    openedAt: date(round.openedAt),
    committedAt: optionalDate(round.committedAt),
    evaluations: (round.evaluations ?? []).map(({ samples, metrics, ...rest }) => ({
      ...rest,
      samples: samples === undefined ? undefined : BigInt(samples),
      metrics: { ...metrics },
    })),
  };
}

const MESSAGE_BYTES = 2 * 1024 * 1024;

/** As many of the rounds, from the first, as fit one message; at least one. */
export function fittingRounds(rounds: readonly TrainingRound[]): RoundMessage[] {
  let bytes = 0;
  const messages: RoundMessage[] = [];
  for (const message of rounds.map(roundMessage)) {
    bytes += RoundMessage.encode(message).finish().byteLength;
    if (bytes > MESSAGE_BYTES && messages.length > 0) break;
    messages.push(message);
  }
  return messages;
}

const STATES = ["accepted", "failed", "straggler"] as const;

/** A participant's result as a coordinator reports it. Rewards are computed here, not reported. */
export function readResult(message: RoundParticipantMessage): RoundParticipant {
  const { participantId, updateBlob, reason, contribution, baseRound, norm, cosine, kept } = message;
  return {
    participantId,
    state: STATES.find((state) => state === message.state) ?? "failed",
    updateBlob,
    bytes: Number(message.bytes),
    durationMs: Number(message.durationMs),
    reason: reason.slice(0, 1000),
    contribution,
    rewardNanoUsd: 0n,
    baseRound,
    metrics: readMetrics(message.metrics),
    ...defined({ samples: message.samples === undefined ? undefined : Number(message.samples), norm, cosine, kept }),
  };
}

/** A participant's evaluation as a coordinator reports it. */
export function readEvaluation(message: RoundEvaluationMessage): RoundEvaluation {
  const { participantId, reason, samples, metrics } = message;
  return {
    participantId,
    state: message.state === "done" ? "done" : "failed",
    reason: reason.slice(0, 1000),
    metrics: readMetrics(metrics),
    ...defined({ samples: samples === undefined ? undefined : Number(samples) }),
  };
}

/** With `credentials` the message is for an edge that proxies requests to the node. */
export function nodeMessage(node: TrainerNode, credentials?: Credentials): NodeMessage {
  return {
    id: node.id,
    name: node.name,
    url: node.url,
    organizationId: node.organizationId,
    teamId: node.teamId,
    status: node.status,
    lastSeenAt: optionalDate(node.lastSeenAt),
    lastError: node.lastError,
    updates: BigInt(node.updates),
    failures: BigInt(node.failures),
    bytes: BigInt(node.bytes),
    trainMs: BigInt(node.trainMs),
    createdAt: date(node.createdAt),
    ...(credentials && nodeCredentials(node, credentials)),
  };
}

function nodeCredentials({ url, sealedToken, sealedSecret }: TrainerNode, { secrets, config }: Credentials) {
  const open = (sealed: string | undefined) => (sealed === undefined ? undefined : secrets.open(sealed).toString());
  const shared = sharedCredentials(config, url);
  return { token: open(sealedToken) ?? shared.token, secret: open(sealedSecret) ?? shared.secret };
}
