import type { Random } from "../../common/random.ts";
import { NO_RECORD, type RoundRecord, roundRecordHash } from "../../common/training/round-record.ts";
import type { Federation, Participant, Round, RoundParticipant } from "../../proto/gen/tributary/training/v1/training.ts";
import type { FederationControl } from "../coordinator/control.ts";

/** The state of a simulated federation: what the control plane stores for a real one, in memory. */
export interface MemoryControl {
  readonly control: FederationControl;
  readonly federation: Federation;
  readonly rounds: readonly Round[];
}

/** Options of a simulated control plane. */
export interface MemoryControlOptions {
  readonly settings: string;
  readonly participants: Participant[];
  /** The parameters that round 1 starts from. */
  readonly initialBlob?: string;
  readonly spentRounds?: number | undefined;
  now(): number;
  readonly random: Random;
  onCommitted(round: Round): Promise<void>;
}

const KEY_BYTES = 32;

/** Creates the state of a simulated federation. */
export function createMemoryControl(options: MemoryControlOptions): MemoryControl {
  const { settings, participants, initialBlob = "", spentRounds = 0, now, random, onCommitted } = options;
  let federation = {
    ...newFederation(settings, participants, now()),
    initialBlob,
    headBlob: initialBlob,
    spentRounds,
    noiseKey: random.bytes(KEY_BYTES),
  };
  let open: { round: Round; places: Map<string, number> } | undefined;
  const rounds: Round[] = [];
  const current = (): Round => {
    if (!open) throw new Error("no round is open");
    return open.round;
  };
  const control: FederationControl = {
    renew: async () => federation,
    participants: async () => participants,
    reportWaiting: async () => {},
    setInitial: async ({ blob, start }) => {
      federation = { ...federation, initialBlob: blob, headBlob: blob, initialStart: start };
      return { blob, start };
    },
    openRound: async (ids) => {
      open ??= {
        round: newRound(federation, ids, now()),
        places: new Map(ids.map((id, index) => [id, index])),
      };
      return open.round;
    },
    recordResult: async (_round, result) => {
      const round = current();
      round.participants[open?.places.get(result.participantId) ?? -1] = result;
      return round;
    },
    reportProgress: async (_round, progress) => {
      for (const participant of current().participants) participant.progress = progress[participant.participantId] ?? participant.progress;
    },
    setPhase: async (_round, phase) => {
      current().state = phase;
    },
    commitRound: async ({ record: text, stateBlob, participants: given, accuracy, loss, epsilon, evaluations }) => {
      const record = JSON.parse(text) as RoundRecord;
      const recordHash = roundRecordHash(record);
      const figures = new Map(given.map((participant) => [participant.participantId, participant]));
      const round: Round = {
        ...current(),
        state: "committed",
        participants: current().participants.map((participant) => figures.get(participant.participantId) ?? participant),
        record: text,
        recordHash,
        resultBlob: record.result,
        accuracy,
        loss,
        epsilon,
        evaluations,
        committedAt: new Date(now()),
      };
      rounds.push(round);
      open = undefined;
      const head = { headRound: round.round, headRecordHash: recordHash, headBlob: record.result, headStateBlob: stateBlob };
      federation = { ...federation, ...head, round: round.round, accuracy, epsilon };
      await onCommitted(round);
      return federation;
    },
    complete: async () => {
      federation = { ...federation, state: "completed" };
    },
    fail: async (failure) => {
      federation = { ...federation, state: "failed", failure };
    },
    history: async (after) => rounds.slice(after),
  };
  return {
    control,
    rounds,
    get federation() {
      return federation;
    },
  };
}

function newFederation(settings: string, participants: Participant[], now: number): Federation {
  const at = new Date(now);
  return {
    id: "simulation",
    name: "simulation",
    organizationId: "",
    teamId: "",
    createdBy: 0n,
    settings,
    participants,
    state: "running",
    phase: "committed",
    round: 0,
    waitingFor: undefined,
    waitingUntil: undefined,
    headRound: 0,
    headRecordHash: NO_RECORD,
    headBlob: "",
    headStateBlob: "",
    accuracy: undefined,
    epsilon: undefined,
    spentRounds: 0,
    failure: undefined,
    budgetNanoUsd: 0n,
    createdAt: at,
    updatedAt: at,
    holder: "",
    initialBlob: "",
    initialStart: "",
    extendedAt: 0,
    noiseKey: Buffer.alloc(0),
  };
}

function newRound({ id, headRound }: Federation, ids: readonly string[], now: number): Round {
  return {
    federationId: id,
    round: headRound + 1,
    state: "selecting",
    participants: ids.map(selected),
    record: "",
    recordHash: "",
    resultBlob: "",
    accuracy: undefined,
    loss: undefined,
    epsilon: undefined,
    budgetNanoUsd: 0n,
    openedAt: new Date(now),
    committedAt: undefined,
    evaluations: [],
  };
}

const selected = (participantId: string): RoundParticipant => ({
  participantId,
  state: "selected",
  updateBlob: "",
  samples: undefined,
  bytes: 0n,
  durationMs: 0n,
  reason: "",
  norm: undefined,
  cosine: undefined,
  kept: undefined,
  contribution: 0,
  rewardNanoUsd: 0n,
  baseRound: 0,
  metrics: {},
});
