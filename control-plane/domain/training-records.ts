// What the control plane keeps of federations. Tensors are not here: only the hashes of their bytes.

export type FederationState = "created" | "waiting" | "running" | "paused" | "completed" | "failed" | "stopped";
export type RoundPhase = "selecting" | "training" | "aggregating" | "evaluating" | "committed" | "abandoned";

export interface FederationParticipant {
  id: string;
  /** Empty: a place that nobody has taken with its join token yet. */
  nodeId: string;
  /** Empty: it asks for its work, for nobody can call it. */
  url: string;
  organizationId: string;
  /** JSON; empty: the node's own data. */
  dataset: string;
  /** Of the join token that takes this place. */
  joinHash?: string;
  joined: boolean;
  /** Signs calls to the node. */
  sealedSecret: string;
  sealedToken?: string;
}

export interface FederationHead {
  round: number;
  recordHash: string;
  blob: string;
  stateBlob: string;
  accuracy?: number;
}

export interface Federation {
  id: string;
  name: string;
  organizationId: string;
  teamId: string;
  createdBy: number;
  /** JSON. */
  settings: string;
  participants: readonly FederationParticipant[];
  budgetNanoUsd: bigint;
  state: FederationState;
  /** Open, or the last that was. */
  round: number;
  phase: RoundPhase;
  waitingFor?: string;
  waitingUntil?: number;
  head: FederationHead;
  epsilon?: number;
  failure?: { code: string; message: string };
  /** Of the last event. */
  eventSeq: number;
  /** Work is wanted from this time on; while a coordinator holds it, when its lease ends. */
  dueAt?: number;
  claim?: string;
  createdAt: number;
  updatedAt: number;
}

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
  kept?: boolean;
  contribution: number;
  rewardNanoUsd: bigint;
  baseRound: number;
}

export interface TrainingRound {
  /** federationId/round */
  id: string;
  federationId: string;
  round: number;
  state: RoundPhase;
  participants: readonly RoundParticipant[];
  /** JSON of the record that was hashed; empty until the round is committed. */
  record: string;
  recordHash: string;
  resultBlob: string;
  accuracy?: number;
  loss?: number;
  epsilon?: number;
  /** Set aside when the round was opened. */
  budgetNanoUsd: bigint;
  openedAt: number;
  committedAt?: number;
}

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

export interface TrainerNode {
  id: string;
  name: string;
  url: string;
  organizationId: string;
  teamId: string;
  sealedToken?: string;
  status: "up" | "down" | "unknown";
  lastSeenAt?: number;
  lastError?: string;
  updates: number;
  failures: number;
  bytes: number;
  trainMs: number;
  createdAt: number;
}
