import { AppError } from "../../common/errors.ts";
import { type RoundRecord, roundRecordHash } from "../../common/round-record.ts";
import { requirePhase, stateAfter } from "../domain/federation-state.ts";
import { shareOut } from "../domain/rewards.ts";
import type { Federation, RoundParticipant, TrainingRound } from "../domain/training-records.ts";
import type { Transaction } from "../stores/store.ts";
import { openRoundOf, putFederation, roundId } from "./federations.ts";
import { fundRound, payRewards } from "./round-money.ts";
import { spendPrivacy } from "./spend-privacy.ts";

/** The open round, or a new one whose budget is set aside. Asked again after a lost answer it is the same one. */
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
    throw new AppError("VALIDATION_ERROR", `A round needs participants of its federation, not ${unknown ?? "none"}.`);
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

/** A round that is taken up again runs, whatever the federation waited for meanwhile. */
async function continueRunning(tx: Transaction, federation: Federation, now: number): Promise<void> {
  if (federation.state === "running") return;
  const { waitingFor: _for, waitingUntil: _until, ...rest } = federation;
  const running: Federation = { ...rest, state: stateAfter(federation.state, "run") };
  await putFederation(tx, running, [{ type: "federation.running", data: { state: "running" } }], now);
}

/** What became of one participant. An accepted update stays accepted: whoever asks again is told what counts. */
export async function recordResult(
  tx: Transaction,
  { federation, round: number, result }: { federation: Federation; round: number; result: RoundParticipant },
  now: number,
): Promise<TrainingRound> {
  const round = await requireOpen(tx, federation, number);
  const known = round.participants.find(({ participantId }) => participantId === result.participantId);
  if (known?.state === "accepted") return round;
  const others = round.participants.filter(({ participantId }) => participantId !== result.participantId);
  const next: TrainingRound = { ...round, participants: [...others, result].sort(byId) };
  await tx.put("trainingRounds", next);
  await noteNode(tx, federation, result, now);
  const { participantId, state, updateBlob, samples, bytes, durationMs, reason } = result;
  const data = { round: number, participantId, updateBlob, samples, bytes, durationMs, reason };
  await putFederation(tx, federation, [{ type: `update.${state}`, data }], now);
  return next;
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

export interface CommitInput {
  federation: Federation;
  record: RoundRecord;
  /** As it is kept, and as it was hashed. */
  recordText: string;
  stateBlob: string;
  participants: readonly RoundParticipant[];
  figures: { accuracy?: number; loss?: number; epsilon?: number };
}

/** The end of a round, all of it or nothing: the chained record, the rewards, the new head. */
export async function commitRound(tx: Transaction, input: CommitInput, now: number): Promise<Federation> {
  const { federation, record, figures } = input;
  if (record.federationId !== federation.id) throw new AppError("VALIDATION_ERROR", "The record is another federation's.");
  const recordHash = roundRecordHash(record);
  // The answer of the first time was lost: it is done.
  if (federation.head.round === record.round && federation.head.recordHash === recordHash) return federation;
  const round = await requireOpen(tx, federation, record.round);
  if (record.previous !== federation.head.recordHash)
    throw new AppError("RECORD_CHANGED", "The record does not follow the federation's head.");
  requireStoredUpdates(record, round);
  const reported = new Map(input.participants.map((participant) => [participant.participantId, participant]));
  const accepted = round.participants.filter(({ state }) => state === "accepted");
  const parts = shareOut(
    round.budgetNanoUsd,
    accepted.map(({ participantId }) => reported.get(participantId)?.contribution ?? 0),
  );
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

/** The record names what was accepted before, no more and no less: what counts was stored first. */
function requireStoredUpdates(record: RoundRecord, round: TrainingRound): void {
  const stored = round.participants.filter(({ state }) => state === "accepted").map(({ updateBlob }) => updateBlob);
  const named = record.updates.map(({ hash }) => hash);
  if (stored.length === 0) throw new AppError("VALIDATION_ERROR", "A round without an update cannot be committed.");
  if (stored.sort().join() !== named.sort().join()) {
    throw new AppError("VALIDATION_ERROR", "The record's updates are not those that were accepted in this round.");
  }
}

async function requireOpen(tx: Transaction, federation: Federation, number: number): Promise<TrainingRound> {
  const round = await openRoundOf(tx, federation);
  if (round?.round === number) return round;
  throw new AppError("RECORD_CHANGED", `Round ${number} is not open.`);
}

/** Health and history of the node behind a participant. */
async function noteNode(tx: Transaction, federation: Federation, result: RoundParticipant, now: number): Promise<void> {
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
      : { ...rest, status: "down", failures: node.failures + 1, lastError: result.reason },
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
