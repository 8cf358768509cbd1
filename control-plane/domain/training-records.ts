import type { Metrics } from "../../common/training/metrics.ts";

// Records of federations. Parameters are not in the store, only the hashes of their bytes.

/** State of a federation; `federation-state.ts` has the transitions. */
export type FederationState = "created" | "waiting" | "running" | "paused" | "completed" | "failed" | "stopped";
/** Phase of a round. */
export type RoundPhase = "selecting" | "training" | "aggregating" | "evaluating" | "committed" | "abandoned";

/** One participant of a federation, with the credentials for calls to it. */
export interface FederationParticipant {
  id: string;
  /** Empty for a participant that joins by token. */
  nodeId: string;
  /** Empty: the participant cannot be called and polls for its work. */
  url: string;
  organizationId: string;
  /** JSON; empty: the node's own data. */
  dataset: string;
  /** Hash of the join token of this participant. */
  joinHash?: string;
  joined: boolean;
  /** In an open federation: when it last called, to a few minutes. */
  seenAt?: number;
  /** Most samples that it agreed to declare when it enrolled. */
  maxSamples?: number;
  /** The federation that is the participant, and how many of its rounds are one training. */
  inner?: { federationId: string; rounds: number };
  /** Encrypted secret that signs calls to the node. */
  sealedSecret: string;
  sealedToken?: string;
}

/** The newest committed round of a federation and its result. */
export interface FederationHead {
  round: number;
  recordHash: string;
  blob: string;
  stateBlob: string;
  accuracy?: number;
}

/** The place of a federation in another one, which adds rounds to it. */
export interface OuterPlace {
  federationId: string;
  participantId: string;
  /** The outer round that its newest rounds belong to; 0: none yet. */
  round: number;
  /** SHA-256 of the parameters that the first of those rounds begins with; empty: its own head. */
  parameters: string;
}

/** A task trained by several participants in rounds. */
export interface Federation {
  id: string;
  name: string;
  organizationId: string;
  teamId: string;
  createdBy: number;
  /** JSON. */
  settings: string;
  participants: readonly FederationParticipant[];
  /** Hash of the join link of an open federation. */
  joinHash?: string;
  /** Reward of one round, split among its participants. */
  budgetNanoUsd: bigint;
  state: FederationState;
  /** The open round, or the last one. */
  round: number;
  phase: RoundPhase;
  waitingFor?: string;
  waitingUntil?: number;
  head: FederationHead;
  /** SHA-256 of the parameters that round 1 starts from; absent: every participant starts with its own. */
  initialBlob?: string;
  /** JSON: where untrained initial parameters came from. */
  initialStart?: string;
  /** The last committed round when the federation was extended after its end. Early stopping looks at later rounds only. */
  extendedAt?: number;
  outer?: OuterPlace;
  epsilon?: number;
  /** Abandoned rounds whose noised updates or result had been seen; they count in epsilon. */
  spentRounds?: number;
  failure?: { code: string; message: string };
  /** Sequence number of the last event. */
  eventSeq: number;
  /** When a coordinator should work on it; while claimed, when the claim expires. */
  dueAt?: number;
  claim?: string;
  /** Address of the coordinator that has the claim, or had the last one: it has the blobs. */
  holder?: string;
  /** The holder before a claim, to which a coordinator that cannot read the blobs gives it back. */
  formerHolder?: string;
  createdAt: number;
  updatedAt: number;
}

/** One participant's evaluation of a round's result. */
export interface RoundEvaluation {
  participantId: string;
  state: "done" | "failed";
  /** Why it failed. */
  reason: string;
  samples?: number;
  /** Every number of its answer, accuracy included. */
  metrics: Metrics;
}

/** The result of one participant in one round. */
export interface RoundParticipant {
  participantId: string;
  state: "selected" | "accepted" | "failed" | "straggler";
  updateBlob: string;
  samples?: number;
  bytes: number;
  durationMs: number;
  reason: string;
  norm?: number;
  cosine?: number;
  /** Whether the strategy used the update; absent where the strategy uses all of them. */
  kept?: boolean;
  contribution: number;
  rewardNanoUsd: bigint;
  baseRound: number;
  /** The numbers that its training returned; absent in rounds of earlier versions. */
  metrics?: Metrics;
  /** How much of its training is done, from 0 to 1, by its own report. */
  progress?: number;
}

/** One round of a federation. */
export interface TrainingRound {
  /** federationId/round */
  id: string;
  federationId: string;
  round: number;
  state: RoundPhase;
  participants: readonly RoundParticipant[];
  /** The round record as hashed, in JSON; empty until the round is committed. */
  record: string;
  recordHash: string;
  resultBlob: string;
  accuracy?: number;
  loss?: number;
  epsilon?: number;
  /** Reserved when the round was opened. */
  budgetNanoUsd: bigint;
  openedAt: number;
  committedAt?: number;
  /** Absent in rounds of earlier versions. */
  evaluations?: readonly RoundEvaluation[];
}

/** One event of a federation's history, for clients that follow it. */
export interface FederationEvent {
  /** federationId/sequence */
  id: string;
  federationId: string;
  sequence: number;
  type: string;
  /** JSON. */
  data: string;
  at: number;
}

/** A trainer node that a team has registered, with its health and totals. */
export interface TrainerNode {
  id: string;
  name: string;
  url: string;
  organizationId: string;
  teamId: string;
  sealedToken?: string;
  sealedSecret?: string;
  status: "up" | "down" | "unknown";
  lastSeenAt?: number;
  lastError?: string;
  updates: number;
  failures: number;
  bytes: number;
  trainMs: number;
  createdAt: number;
}
