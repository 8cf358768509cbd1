import type { z } from "zod";
import { modelNameFrom } from "../../../../common/model-name.ts";
import { toUsdString } from "../../../../common/money.ts";
import type { Federation, Node, Round } from "../../../../proto/gen/tributary/training/v1/training.ts";
import type * as schemas from "../../../schemas/platform/training.ts";
import { money, sent } from "../present.ts";
import { type ParticipantMetrics, participantMetrics, roundEvaluation, roundMetrics } from "./round-metrics.ts";

const orNull = (text: string): string | null => (text === "" ? null : text);

export function presentFederation(federation: Federation): z.infer<typeof schemas.federationRecord> {
  const { id, name, organizationId, teamId, createdBy, state, round, headRound } = federation;
  const settings = JSON.parse(federation.settings) as { rounds: number };
  const isRunning = state === "running" || state === "paused";
  return {
    id,
    name,
    modelName: modelNameOf(federation),
    organizationId,
    teamId,
    createdBy,
    state,
    phase: isRunning ? federation.phase : null,
    round,
    rounds: settings.rounds,
    waitingFor: federation.waitingFor ?? null,
    waitingUntil: federation.waitingUntil ?? null,
    failure: federation.failure ?? null,
    head:
      headRound === 0
        ? null
        : {
            round: headRound,
            recordHash: federation.headRecordHash,
            parameters: federation.headBlob,
            accuracy: federation.accuracy ?? null,
          },
    epsilon: federation.epsilon ?? null,
    initialParameters: orNull(federation.initialBlob),
    initialStart: federation.initialStart === "" ? null : (JSON.parse(federation.initialStart) as { by: string }),
    outer: federation.outer ?? null,
    budgetNanoUsd: federation.budgetNanoUsd,
    budgetUsd: toUsdString(federation.budgetNanoUsd),
    participants: federation.participants.map((participant) => ({
      id: participant.id,
      nodeId: orNull(participant.nodeId),
      url: orNull(participant.url),
      organizationId: participant.organizationId,
      joined: participant.joined,
      inner: participant.inner ?? null,
    })),
    settings,
    createdAt: sent(federation.createdAt, "createdAt"),
    updatedAt: sent(federation.updatedAt, "updatedAt"),
  };
}

/** The default name of a federation's published model. */
export const modelNameOf = ({ id, name }: Pick<Federation, "id" | "name">): string => modelNameFrom(name) ?? id;

export function presentRound(round: Round): z.infer<typeof schemas.roundRecord> {
  const measured = participantMetrics(round);
  return {
    federationId: round.federationId,
    round: round.round,
    state: round.state,
    recordHash: orNull(round.recordHash),
    record: round.record === "" ? null : (JSON.parse(round.record) as Record<string, unknown>),
    parameters: orNull(round.resultBlob),
    accuracy: round.accuracy ?? null,
    loss: round.loss ?? null,
    metrics: roundMetrics(round),
    evaluation: roundEvaluation(round),
    epsilon: round.epsilon ?? null,
    ...money("budget", round.budgetNanoUsd),
    participants: round.participants.map((participant) => ({
      participantId: participant.participantId,
      state: participant.state,
      update: orNull(participant.updateBlob),
      samples: participant.samples ?? null,
      bytes: participant.bytes,
      durationMs: participant.durationMs,
      reason: orNull(participant.reason),
      norm: participant.norm ?? null,
      cosine: participant.cosine ?? null,
      kept: participant.kept ?? null,
      contribution: participant.contribution,
      ...money("reward", participant.rewardNanoUsd),
      staleness: Math.max(0, round.round - 1 - participant.baseRound),
      progress: participant.progress ?? null,
      ...(measured.get(participant.participantId) ?? NOT_MEASURED),
    })),
    openedAt: sent(round.openedAt, "openedAt"),
    committedAt: round.committedAt ?? null,
  };
}

const NOT_MEASURED: ParticipantMetrics = { metrics: { train: {}, evaluate: {} }, evaluation: null };

export function presentNode(node: Node): z.infer<typeof schemas.nodeRecord> {
  const { id, name, url, status, updates, failures, bytes, trainMs } = node;
  return {
    id,
    name,
    url,
    organizationId: node.organizationId || null,
    teamId: node.teamId || null,
    status,
    lastSeenAt: node.lastSeenAt ?? null,
    lastError: node.lastError ?? null,
    updates,
    failures,
    bytes,
    trainMs,
    createdAt: node.teamId === "" ? null : sent(node.createdAt, "createdAt"),
  };
}

/** The name of the task that a federation trains. */
export function taskOf({ settings }: Pick<Federation, "settings">): string {
  return (JSON.parse(settings) as { task: { name: string } }).task.name;
}
