import type { Clock } from "../../../common/clock.ts";
import type { Deployment } from "../../../proto/gen/tributary/access/v1/access.ts";
import { type Availability, Circuit, type CircuitRules } from "./circuit.ts";
import type { Target } from "./deployment-settings.ts";
import type { ErrorClass } from "./error-class.ts";
import { PeakEwma } from "./peak-ewma.ts";

/** The health of deployments from their own answers; one entry each, removed with the deployment. */
export interface Health {
  /** A request is sent. The ticket is closed by exactly one of the three methods below; later calls are ignored. */
  begin(target: Target, tokens: number): Ticket;
  succeeded(ticket: Ticket, answer: AnswerFacts): void;
  failed(ticket: Ticket, failure: Failure, rules: CircuitRules): void;
  /** The client disconnected: neither success nor failure. */
  cancelled(ticket: Ticket): void;
  stateOf(id: string): DeploymentHealth | undefined;
  read(id: string): HealthReading;
  /** The loads of many deployments, in their order: the same list until the next `keep`, with numbers that keep changing. */
  loadsOf(targets: readonly Target[]): readonly Load[];
  /** Removes the entries of removed deployments, and resets the circuit of changed ones. */
  keep(targets: readonly Target[], latencyTauMs: number): void;
}

export interface AnswerFacts {
  readonly latencyMs: number;
  readonly firstTokenMs?: number | undefined;
  /** Input and output together, as far as known; counts toward tpm. */
  readonly tokens: number;
  /** For time per token; absent: the whole latency counts. */
  readonly outputTokens?: number | undefined;
}

export interface Failure {
  readonly kind: ErrorClass;
  readonly retryAfterMs: number | undefined;
  readonly hasAlternatives: boolean;
  readonly forbidden: boolean;
}

/** For strategies and filters, on the hot path. */
export interface HealthReading {
  readonly availability: Availability;
  readonly inFlight: number;
  readonly requestsThisMinute: number;
  readonly tokensThisMinute: number;
  readonly minuteLeftMs: number;
  /** Peak EWMA of time to first token, 0 = unknown. */
  readonly streamLatency: number;
  /** Peak EWMA of milliseconds per output token of whole answers, 0 = unknown. */
  readonly wholeLatency: number;
}

/** For health pages and metrics. */
export interface DeploymentHealth extends HealthReading {
  readonly succeeded: number;
  readonly failed: number;
  readonly lastFailure: { readonly kind: ErrorClass; readonly atMs: number } | undefined;
}

export interface Ticket {
  readonly target: Target;
  readonly startedMs: number;
}

/** For strategies that compare a whole group: read in one pass, without a reading of each. */
export interface Load {
  readonly inFlight: number;
  /** The minute of the wall clock that `tokens` are of. */
  readonly minute: number;
  readonly tokens: number;
}

interface State {
  deployment: Deployment;
  circuit: Circuit;
  inFlight: number;
  minute: number;
  requests: number;
  tokens: number;
  succeeded: number;
  failed: number;
  lastFailure: { kind: ErrorClass; atMs: number } | undefined;
  readonly stream: PeakEwma;
  readonly whole: PeakEwma;
}

interface OpenTicket extends Ticket {
  readonly state: State;
  /** The circuit at that time: the result does not affect a circuit that replaced it. */
  readonly circuit: Circuit;
  readonly tokens: number;
  readonly minute: number;
  isOpen: boolean;
}

export const MINUTE_MS = 60_000;

export function createHealth(clock: Clock): Health {
  let states = new Map<string, State>();
  let tauMs = 10_000;

  function stateFor({ deployment }: Target): State {
    const known = states.get(deployment.id);
    if (known) return known;
    const state = newState(deployment, tauMs);
    states.set(deployment.id, state);
    return state;
  }

  /** The state of an open ticket, which is closed by this. */
  function close(ticket: Ticket): OpenTicket | undefined {
    const found = ticket as OpenTicket;
    if (!found.isOpen) return undefined;
    found.isOpen = false;
    found.state.inFlight--;
    return found;
  }

  return {
    begin(target, tokens) {
      const nowMs = clock.monotonicMs();
      const state = stateFor(target);
      state.circuit.started(nowMs);
      state.inFlight++;
      turnMinute(state, clock.now());
      state.requests++;
      // Counted before the answer, corrected after it, so that concurrent calls see each other.
      state.tokens += tokens;
      const ticket: OpenTicket = { target, startedMs: nowMs, state, circuit: state.circuit, tokens, minute: state.minute, isOpen: true };
      return ticket;
    },
    succeeded(ticket, answer) {
      const found = close(ticket);
      if (!found) return;
      const { state } = found;
      const nowMs = clock.monotonicMs();
      state.succeeded++;
      found.circuit.succeeded(nowMs, ticket.startedMs);
      turnMinute(state, clock.now());
      state.tokens += found.minute === state.minute ? answer.tokens - found.tokens : 0;
      if (answer.firstTokenMs === undefined) state.whole.observe(answer.latencyMs / Math.max(1, answer.outputTokens ?? 1), nowMs);
      else state.stream.observe(answer.firstTokenMs, nowMs);
    },
    failed(ticket, failure, rules) {
      const found = close(ticket);
      if (!found) return;
      const { state } = found;
      const nowMs = clock.monotonicMs();
      const { startedMs, target } = ticket;
      state.failed++;
      state.lastFailure = { kind: failure.kind, atMs: clock.now() };
      found.circuit.failed(nowMs, { ...failure, startedMs, derived: target.derived }, rules);
      if (failure.kind !== "timeout") return;
      // No answer counts as the slowest answer.
      state.stream.observe(nowMs - startedMs, nowMs);
      state.whole.observe(nowMs - startedMs, nowMs);
    },
    cancelled(ticket) {
      close(ticket)?.circuit.withdrawn(clock.monotonicMs(), ticket.startedMs);
    },
    read: (id) => reading(states.get(id), clock),
    loadsOf: (targets) => loadsIn(states, targets, stateFor),
    stateOf(id) {
      const state = states.get(id);
      if (!state) return undefined;
      const { succeeded, failed, lastFailure } = state;
      return { ...reading(state, clock), succeeded, failed, lastFailure };
    },
    keep(targets, latencyTauMs) {
      tauMs = latencyTauMs;
      states = new Map(targets.map(({ deployment }) => [deployment.id, refreshed(states.get(deployment.id), deployment, tauMs)]));
    },
  };
}

const loads = new WeakMap<Map<string, State>, WeakMap<readonly Target[], readonly Load[]>>();

function loadsIn(states: Map<string, State>, targets: readonly Target[], stateFor: (target: Target) => State): readonly Load[] {
  const known = loads.get(states)?.get(targets);
  if (known) return known;
  const found = targets.map(stateFor);
  loads.set(states, (loads.get(states) ?? new WeakMap<readonly Target[], readonly Load[]>()).set(targets, found));
  return found;
}

/** The state of a deployment that still exists. A changed deployment may be repaired, so its circuit is reset. */
function refreshed(state: State | undefined, deployment: Deployment, tauMs: number): State {
  if (!state) return newState(deployment, tauMs);
  if (!isSameUpstream(state.deployment, deployment)) state.circuit = new Circuit();
  state.deployment = deployment;
  return state;
}

function newState(deployment: Deployment, tauMs: number): State {
  return {
    deployment,
    circuit: new Circuit(),
    inFlight: 0,
    minute: 0,
    requests: 0,
    tokens: 0,
    succeeded: 0,
    failed: 0,
    lastFailure: undefined,
    stream: new PeakEwma(tauMs),
    whole: new PeakEwma(tauMs),
  };
}

function turnMinute(state: State, wallMs: number): void {
  const minute = Math.floor(wallMs / MINUTE_MS);
  if (minute === state.minute) return;
  state.minute = minute;
  state.requests = 0;
  state.tokens = 0;
}

const UNKNOWN: HealthReading = {
  availability: { state: "closed" },
  inFlight: 0,
  requestsThisMinute: 0,
  tokensThisMinute: 0,
  minuteLeftMs: MINUTE_MS,
  streamLatency: 0,
  wholeLatency: 0,
};

function reading(state: State | undefined, clock: Clock): HealthReading {
  if (!state) return UNKNOWN;
  const nowMs = clock.monotonicMs();
  turnMinute(state, clock.now());
  return {
    availability: state.circuit.availability(nowMs),
    inFlight: state.inFlight,
    requestsThisMinute: state.requests,
    tokensThisMinute: state.tokens,
    minuteLeftMs: MINUTE_MS - (clock.now() % MINUTE_MS),
    streamLatency: state.stream.read(nowMs),
    wholeLatency: state.whole.read(nowMs),
  };
}

function isSameUpstream(left: Deployment, right: Deployment): boolean {
  return (
    left.providerKind === right.providerKind &&
    left.inferenceModelId === right.inferenceModelId &&
    left.baseUrl === right.baseUrl &&
    left.apiKey === right.apiKey &&
    left.params === right.params
  );
}
