import { AppError } from "../../common/errors.ts";
import { type RoundRecord, roundRecordHash } from "../../common/training/round-record.ts";
import { requirePhase, stateAfter } from "../domain/federation-state.ts";
import { paidContributions, shareOut } from "../domain/rewards.ts";
import type { Federation, RoundEvaluation, RoundParticipant, TrainingRound } from "../domain/training-records.ts";
import type { Transaction } from "../stores/store.ts";
import { openRoundOf, putFederation, roundId } from "./federations.ts";
import { fundRound, payRewards } from "./round-money.ts";
import { spendPrivacy } from "./spend-privacy.ts";

/** Returns the open round, or opens one and reserves its budget. A retry after a lost answer gets the same round. */
export async function openRound(
  tx: Transaction,
  { federation, participantIds, reserved }: { federation: Federation; participantIds: readonly string[]; reserved: bigint },
  now: number,
): Promise<TrainingRound> {
  const known = await openRoundOf(tx, federation);
  if (known) {
    await continueRunning(tx, federation, now);
    return known;
  }
  const number = federation.head.round + 1;
  await spendPrivacy(tx, { federation, participantIds }, now);
  await fundRound(tx, { federation, round: number, reserved }, now);
  const unknown = participantIds.find((id) => !federation.participants.some((participant) => participant.id === id));
  if (unknown !== undefined || participantIds.length === 0) {
    throw new AppError(
      "VALIDATION_ERROR",
      unknown === undefined ? "A round needs at least one participant." : `The federation has no participant ${unknown}.`,
    );
  }
  const round: TrainingRound = {
    id: roundId(federation.id, number),
    federationId: federation.id,
    round: number,
    state: "selecting",
    participants: participantIds.map((participantId) => emptyResult(participantId, federation.head.round)),
    record: "",
    recordHash: "",
    resultBlob: "",
    budgetNanoUsd: federation.budgetNanoUsd,
    openedAt: now,
  };
  await tx.put("trainingRounds", round);
  const { waitingFor: _for, waitingUntil: _until, ...rest } = federation;
  const running: Federation = { ...rest, state: stateAfter(federation.state, "run"), round: number, phase: "selecting" };
  const started = federation.state === "running" ? [] : [{ type: "federation.running", data: { state: "running" } }];
  await putFederation(tx, running, [...started, { type: "round.selecting", data: { round: number, participants: participantIds } }], now);
  return round;
}

/** Sets the federation back to running when its open round is continued. */
async function continueRunning(tx: Transaction, federation: Federation, now: number): Promise<void> {
  if (federation.state === "running") return;
  const { waitingFor: _for, waitingUntil: _until, ...rest } = federation;
  const running: Federation = { ...rest, state: stateAfter(federation.state, "run") };
  await putFederation(tx, running, [{ type: "federation.running", data: { state: "running" } }], now);
}

/**
 * Stores the result of one participant. An accepted update stays accepted: a later result does not replace it, unless it says that this very
 * update failed, because it does not fit the others of the round.
 */
export async function recordResult(
  tx: Transaction,
  { federation, round: number, result }: { federation: Federation; round: number; result: RoundParticipant },
  now: number,
): Promise<TrainingRound> {
  const round = await requireOpen(tx, federation, number);
  const known = round.participants.find(({ participantId }) => participantId === result.participantId);
  const isTakenBack = known?.state === "accepted" && result.state === "failed" && result.updateBlob === known.updateBlob;
  if (known?.state === "accepted" && !isTakenBack) return round;
  const others = round.participants.filter(({ participantId }) => participantId !== result.participantId);
  const stored = isTakenBack ? { ...result, updateBlob: "" } : result;
  const next: TrainingRound = { ...round, participants: [...others, stored].sort(byId) };
  await tx.put("trainingRounds", next);
  await noteNode(tx, federation, { result, isTakenBack }, now);
  const { participantId, state, updateBlob, samples, bytes, durationMs, reason } = result;
  const data = { round: number, participantId, updateBlob, samples, bytes, durationMs, reason };
  await putFederation(tx, federation, [{ type: `update.${state}`, data }], now);
  return next;
}

/** Notes how far participants without a result are. It is no event: the next report replaces it. */
export async function reportProgress(
  tx: Transaction,
  { federation, round: number, progress }: { federation: Federation; round: number; progress: Readonly<Record<string, number>> },
): Promise<void> {
  const round = await requireOpen(tx, federation, number);
  const participants = round.participants.map((participant) => {
    const reported = participant.state === "selected" ? progress[participant.participantId] : undefined;
    return reported !== undefined && reported >= 0 && reported <= 1 ? { ...participant, progress: reported } : participant;
  });
  await tx.put("trainingRounds", { ...round, participants });
}

export async function setPhase(
  tx: Transaction,
  { federation, round: number, phase: asked }: { federation: Federation; round: number; phase: string },
  now: number,
): Promise<void> {
  const round = await requireOpen(tx, federation, number);
  const phase = requirePhase(round.state, asked);
  await tx.put("trainingRounds", { ...round, state: phase });
  await putFederation(tx, { ...federation, phase }, [{ type: `round.${phase}`, data: { round: number } }], now);
}

/** A round that is ready to be committed. */
export interface CommitInput {
  federation: Federation;
  record: RoundRecord;
  /** The record as it is stored and was hashed. */
  recordText: string;
  stateBlob: string;
  participants: readonly RoundParticipant[];
  evaluations: readonly RoundEvaluation[];
  figures: { accuracy?: number; loss?: number; epsilon?: number };
}

/** Commits a round atomically: the chained record, the rewards and the new head. */
export async function commitRound(tx: Transaction, input: CommitInput, now: number): Promise<Federation> {
  const { federation, record, figures } = input;
  if (record.federationId !== federation.id) throw new AppError("VALIDATION_ERROR", "The round record belongs to another federation.");
  const recordHash = roundRecordHash(record);
  // A retry after a lost answer: the round is committed already.
  if (federation.head.round === record.round && federation.head.recordHash === recordHash) return federation;
  const round = await requireOpen(tx, federation, record.round);
  if (record.previous !== federation.head.recordHash)
    throw new AppError("RECORD_CHANGED", "The round record does not follow the federation's last committed round.");
  requireStoredUpdates(record, round);
  const reported = new Map(input.participants.map((participant) => [participant.participantId, participant]));
  const accepted = round.participants.filter(({ state }) => state === "accepted");
  const contributions = paidContributions(accepted.map(({ participantId }) => reported.get(participantId) ?? { contribution: 0 }));
  const parts = shareOut(round.budgetNanoUsd, contributions);
  const shares = new Map(accepted.map(({ participantId }, index) => [participantId, parts[index] as bigint]));
  await payRewards(tx, { federation, round, shares }, now);
  const participants = round.participants.map((stored) => ({
    ...stored,
    ...measured(reported.get(stored.participantId)),
    rewardNanoUsd: shares.get(stored.participantId) ?? 0n,
  }));
  await tx.put("trainingRounds", {
    ...round,
    ...figures,
    state: "committed",
    participants,
    record: input.recordText,
    recordHash,
    resultBlob: record.result,
    evaluations: input.evaluations,
    committedAt: now,
  });
  const { accuracy, epsilon } = figures;
  const head = {
    round: record.round,
    recordHash,
    blob: record.result,
    stateBlob: input.stateBlob,
    ...(accuracy === undefined ? {} : { accuracy }),
  };
  const next: Federation = { ...federation, phase: "committed", head, ...(epsilon === undefined ? {} : { epsilon }) };
  const data = {
    round: record.round,
    recordHash,
    result: record.result,
    updates: accepted.length,
    ...figures,
    rewards: Object.fromEntries(shares),
  };
  return putFederation(tx, next, [{ type: "round.committed", data }], now);
}

/** The record must name exactly the accepted updates, which were stored before. */
function requireStoredUpdates(record: RoundRecord, round: TrainingRound): void {
  const stored = round.participants.filter(({ state }) => state === "accepted").map(({ updateBlob }) => updateBlob);
  const named = record.updates.map(({ hash }) => hash);
  if (stored.length === 0) throw new AppError("VALIDATION_ERROR", "A round without an update cannot be committed.");
  if (stored.sort().join() !== named.sort().join()) {
    throw new AppError("VALIDATION_ERROR", "The updates of the round record are not the updates accepted in this round.");
  }
}

async function requireOpen(tx: Transaction, federation: Federation, number: number): Promise<TrainingRound> {
  const round = await openRoundOf(tx, federation);
  if (round?.round === number) return round;
  throw new AppError("RECORD_CHANGED", `Round ${number} is not open.`);
}

/** Updates health and totals of the participant's node. */
async function noteNode(
  tx: Transaction,
  federation: Federation,
  { result, isTakenBack }: { result: RoundParticipant; isTakenBack: boolean },
  now: number,
): Promise<void> {
  const participant = federation.participants.find(({ id }) => id === result.participantId);
  const node = participant && (await tx.get("trainerNodes", participant.nodeId));
  if (!node || result.state === "straggler") return;
  const { lastError: _before, ...rest } = node;
  await tx.put(
    "trainerNodes",
    result.state === "accepted"
      ? {
          ...rest,
          status: "up",
          lastSeenAt: now,
          updates: node.updates + 1,
          bytes: node.bytes + result.bytes,
          trainMs: node.trainMs + result.durationMs,
        }
      : {
          ...rest,
          status: "down",
          updates: node.updates - (isTakenBack ? 1 : 0),
          failures: node.failures + 1,
          lastError: result.reason,
        },
  );
}

function measured(reported: RoundParticipant | undefined): Partial<RoundParticipant> {
  if (!reported) return {};
  const { norm, cosine, kept, contribution } = reported;
  return {
    contribution,
    ...(norm === undefined ? {} : { norm }),
    ...(cosine === undefined ? {} : { cosine }),
    ...(kept === undefined ? {} : { kept }),
  };
}

function emptyResult(participantId: string, baseRound: number): RoundParticipant {
  return {
    participantId,
    state: "selected",
    updateBlob: "",
    bytes: 0,
    durationMs: 0,
    reason: "",
    contribution: 0,
    rewardNanoUsd: 0n,
    baseRound,
  };
}

const byId = (left: RoundParticipant, right: RoundParticipant): number =>
  left.participantId.localeCompare(right.participantId, "en", { numeric: true });
