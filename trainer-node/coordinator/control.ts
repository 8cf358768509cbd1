import type { Clock } from "../../common/clock.ts";
import { AppError } from "../../common/errors.ts";
import type { CallOptions, ServiceClient } from "../../common/grpc/client.ts";
import type {
  CommitRoundRequest,
  Failure,
  Federation,
  FederationWork,
  Participant,
  Round,
  RoundParticipant,
  TrainingServiceService,
} from "../../proto/gen/tributary/training/v1/training.ts";

/** The gRPC client of the control plane's training service. */
export type TrainingClient = ServiceClient<typeof TrainingServiceService>;

/** The claim on the federation is lost: another coordinator has it, or the federation was stopped. */
export class ClaimLost extends Error {
  constructor(options?: { cause: unknown }) {
    super("the claim on the federation is lost", options);
    this.name = "ClaimLost";
  }
}

/** Initial parameters by their hash, and where untrained ones came from, as JSON; "" for others. */
export interface InitialParameters {
  readonly blob: string;
  readonly start: string;
}

/** The steps of one federation under one claim. Each may be repeated: a completed step is not done twice. */
export interface FederationControl {
  renew(leaseMs: number): Promise<Federation>;
  /** The participants of the federation by now, which change while an open one runs. */
  participants(): Promise<Participant[]>;
  reportWaiting(waitingFor: string, until: number): Promise<void>;
  /** Stores the parameters that the first round starts from. Returns those that were stored first. */
  setInitial(initial: InitialParameters): Promise<InitialParameters>;
  openRound(participantIds: string[]): Promise<Round>;
  recordResult(round: number, result: RoundParticipant): Promise<Round>;
  /** Notes how far participants without a result are, by their id and from 0 to 1. */
  reportProgress(round: number, progress: Readonly<Record<string, number>>): Promise<void>;
  setPhase(round: number, phase: string): Promise<void>;
  commitRound(commit: Omit<CommitRoundRequest, "federationId" | "claim">): Promise<Federation>;
  /** Ends the federation. If it has other rounds than the given number by now, it does not end and is claimed again. */
  complete(rounds: number): Promise<void>;
  fail(failure: Failure): Promise<void>;
  /** A page of committed rounds after a round, oldest first. */
  history(after: number): Promise<Round[]>;
}

const CALL_MS = 5000;
const RETRY_MS = { first: 100, max: 2000 };
/** A restarting control plane is back by then. After that the claim is given up, and the federation is claimed again. */
const RETRY_FOR_MS = 60_000;
const HISTORY_PAGE = 50;

/** Binds the steps of one federation to a claim. */
export function bindControl(
  client: TrainingClient,
  { federationId, claim, clock, signal }: { federationId: string; claim: string; clock: Clock; signal: AbortSignal },
): FederationControl {
  const held = { federationId, claim };
  const options: CallOptions = { deadlineMs: CALL_MS };
  const persist = <Answer>(ask: () => Promise<Answer>): Promise<Answer> => askAgain(ask, clock, signal);
  return {
    renew: async (leaseMs) => {
      const { federation } = await client.renewFederation({ ...held, leaseMs: BigInt(leaseMs) }, options);
      if (!federation) throw new ClaimLost();
      return federation;
    },
    participants: async () => sent((await persist(() => client.getWork({ federationId }, options))).federation).participants,
    reportWaiting: async (waitingFor, until) => {
      await persist(() => client.reportWaiting({ ...held, waitingFor, until: new Date(until) }, options));
    },
    setInitial: async ({ blob, start }) => persist(() => client.setInitial({ ...held, blob, start }, options)),
    openRound: async (participantIds) => sent((await persist(() => client.openRound({ ...held, participantIds }, options))).round),
    recordResult: async (round, result) => sent((await persist(() => client.recordResult({ ...held, round, result }, options))).round),
    // The next report replaces a lost one.
    reportProgress: async (round, progress) => {
      await client.reportProgress({ ...held, round, progress: { ...progress } }, options);
    },
    setPhase: async (round, phase) => {
      await persist(() => client.setPhase({ ...held, round, phase }, options));
    },
    commitRound: async (commit) => sent((await persist(() => client.commitRound({ ...held, ...commit }, options))).federation),
    complete: async (rounds) => {
      await persist(() => client.endFederation({ ...held, state: "completed", rounds }, options));
    },
    fail: async (failure) => {
      await persist(() => client.endFederation({ ...held, state: "failed", failure }, options));
    },
    history: async (after) => (await persist(() => client.getHistory({ federationId, after, limit: HISTORY_PAGE }, options))).rounds,
  };
}

/** Claims federations without a coordinator, and waits for some if it should. */
export async function claimWork(client: TrainingClient, { leaseMs, signal, ...request }: ClaimRequest): Promise<FederationWork[]> {
  const options = { deadlineMs: CALL_MS + (request.waitMs ?? 0), signal };
  return (await client.claimFederations({ ...request, leaseMs: BigInt(leaseMs) }, options)).work;
}

/** A request for federations without a coordinator. */
export interface ClaimRequest {
  readonly claim: string;
  readonly leaseMs: number;
  readonly limit: number;
  readonly except: string[];
  readonly address: string;
  readonly waitMs?: number;
  readonly lookMs?: number;
  readonly signal: AbortSignal;
}

/** Releases a claim to other coordinators and records what the federation waits for. */
export async function releaseWork(
  client: TrainingClient,
  held: { federationId: string; claim: string; waitingFor: string; waitingClaim: string },
): Promise<void> {
  await client.releaseFederation(held, { deadlineMs: CALL_MS });
}

async function askAgain<Answer>(ask: () => Promise<Answer>, clock: Clock, signal: AbortSignal): Promise<Answer> {
  const begunMs = clock.monotonicMs();
  for (let delayMs = RETRY_MS.first; ; delayMs = Math.min(RETRY_MS.max, delayMs * 2)) {
    signal.throwIfAborted();
    try {
      return await ask();
    } catch (thrown) {
      if (!(thrown instanceof AppError)) throw thrown;
      if (thrown.code === "RECORD_CHANGED" || thrown.code === "NOT_FOUND") throw new ClaimLost({ cause: thrown });
      const isPassing = thrown.code === "UNAVAILABLE" || thrown.code === "DB_TIMEOUT";
      if (!isPassing || clock.monotonicMs() - begunMs > RETRY_FOR_MS) throw thrown;
      await clock.sleep(delayMs, signal);
    }
  }
}

function sent<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new Error("the control plane's answer has no federation or round");
  return value;
}
