import type { WebSocket } from "ws";
import { isPlaceRefused } from "../../../common/checked-lookup.ts";
import { AppError, asAppError } from "../../../common/errors.ts";
import type { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import type { Provider } from "../../upstream/providers/provider.ts";
import type { Attempt, RouteRun } from "../../upstream/routing/route.ts";
import { targetOf } from "../../upstream/target.ts";
import { openSocket, RefusedHandshake } from "../../upstream/transports/open-socket.ts";
import type { ProxyOf } from "../../upstream/transports/proxies.ts";
import type { UpstreamGuard } from "../../upstream/transports/upstream-guard.ts";
import { gatewayErrorStatus } from "../gateway-error.ts";
import type { GuardrailLayer } from "../guardrails/guardrail-layer.ts";
import { providerFor } from "../inference/job.ts";
import { planCall } from "../inference/plan-call.ts";
import { NO_ROUTING, routeRequest } from "../inference/route-request.ts";
import type { OpenCalls } from "../open-calls.ts";
import { realtimeJob } from "./realtime-job.ts";
import { RealtimeSession } from "./session.ts";
import { Transcriptions } from "./transcriptions.ts";
import { Turns, type TurnsDeps } from "./turns.ts";

export interface RealtimeDeps extends TurnsDeps {
  readonly guardrails: Pick<GuardrailLayer, "chosenFor">;
  readonly guard: Pick<UpstreamGuard, "guardFor">;
  readonly proxyOf: ProxyOf;
  readonly openCalls: OpenCalls;
  readonly limits: { readonly idleMs: number; readonly totalMs: number };
}

export interface RealtimeCall {
  readonly callId: string;
  readonly model: string;
  readonly endpoint: string;
  /** The caller as of now; throws when its key is no longer valid. */
  readonly callerNow: () => Caller | Promise<Caller>;
  /** Headers of the client that the provider gets too. */
  readonly headers: Readonly<Record<string, string>>;
  /** Aborted when the client disconnects before the session begins. */
  readonly signal: AbortSignal;
}

/** Realtime sessions of this edge. */
export interface Realtime {
  /** Admits a session, reserves for its first response and connects it to a deployment. Throws why it cannot be opened. */
  connect(call: RealtimeCall): Promise<ConnectedRealtime>;
  /** Resolves when every session that was opened is over and settled. */
  settled(): Promise<void>;
}

export interface ConnectedRealtime {
  /** Passes events between client and provider. Resolves when the session is over and settled. */
  run(client: WebSocket): Promise<void>;
  /** The client left before the session began. */
  abandon(): Promise<void>;
}

const HANDSHAKE_MS = 15_000;
const MESSAGE_BYTES_MAX = 16 * 1024 * 1024;

export function createRealtime(deps: RealtimeDeps): Realtime {
  const open = new Set<Promise<void>>();
  return {
    async connect(call) {
      const session = Promise.withResolvers<void>();
      open.add(session.promise);
      const over = () => {
        open.delete(session.promise);
        session.resolve();
      };
      try {
        return await connect(deps, call, over);
      } catch (thrown) {
        over();
        throw thrown;
      }
    },
    async settled() {
      await Promise.all(open);
    },
  };
}

async function connect(deps: RealtimeDeps, call: RealtimeCall, over: () => void): Promise<ConnectedRealtime> {
  const { model, endpoint, callerNow } = call;
  const caller = await callerNow();
  if (deps.guardrails.chosenFor({ caller, request: undefined }).length > 0) {
    throw new AppError("FORBIDDEN", "Guardrails apply to this API key, and they cannot read realtime sessions.");
  }
  const turns = new Turns(deps, { endpoint, job: realtimeJob(model), callerNow });
  await turns.arm();
  // From here on credit is reserved: every way out goes through exactly one settlement.
  try {
    const opened = await openFirst(deps, call, caller);
    turns.servedBy(opened, opened.route);
    return connected(deps, { call, turns, opened, over });
  } catch (thrown) {
    const error = asAppError(thrown);
    await turns.end(call.signal.aborted ? { status: "cancelled" } : { status: "error", error, httpStatus: gatewayErrorStatus(error) });
    throw error;
  }
}

interface Opened {
  readonly upstream: WebSocket;
  readonly provider: Provider;
  readonly attempt: Attempt;
  readonly route: RouteRun;
}

function connected(
  deps: RealtimeDeps,
  { call, turns, opened, over }: { call: RealtimeCall; turns: Turns; opened: Opened; over: () => void },
): ConnectedRealtime {
  const { upstream, attempt, route } = opened;
  const { endpoint, callerNow, model } = call;
  const { providerKind } = attempt.deployment;
  return {
    async run(client) {
      const transcriptions = new Transcriptions(deps, { endpoint, callerNow, providerKind });
      const { clock, limits, openCalls } = deps;
      const parts = { client, upstream, model, turns, transcriptions, clock, limits, stopping: openCalls.stopping };
      try {
        await new RealtimeSession({ ...parts, openCall: openCalls.open() }).run();
      } finally {
        // A session says nothing about the latency of its deployment.
        route.cancelled(attempt);
        over();
      }
    },
    async abandon() {
      upstream.terminate();
      route.cancelled(attempt);
      await turns.end({ status: "cancelled" }).finally(over);
    },
  };
}

/** Tries deployments as the router says until one accepts the session. */
async function openFirst(deps: RealtimeDeps, call: RealtimeCall, caller: Caller): Promise<Opened> {
  const job = realtimeJob(call.model);
  const plan = planCall(deps, { caller, job, alternatives: [], routing: NO_ROUTING });
  // A session begins with an empty context.
  const route = deps.routing.start(
    routeRequest(deps, { callId: call.callId, caller, job, routing: NO_ROUTING }, { ...plan, requestTokens: 0 }),
  );
  for (;;) {
    call.signal.throwIfAborted();
    const attempt = await route.next(call.signal);
    if (!attempt) throw route.lastError ?? new AppError("UPSTREAM_UNAVAILABLE", `No provider of the model ${call.model} can be reached.`);
    const provider = providerFor(deps.providers, job, attempt.deployment);
    const result = await open(deps, { call, attempt, provider });
    if (!(result instanceof AppError) && provider) return { upstream: result, provider, attempt, route };
    if (call.signal.aborted) route.cancelled(attempt);
    else route.failed(attempt, result as AppError, { visible: false, upstreamStatus: undefined });
  }
}

async function open(
  deps: RealtimeDeps,
  { call, attempt, provider }: { call: RealtimeCall; attempt: Attempt; provider: Provider | undefined },
): Promise<WebSocket | AppError> {
  try {
    if (!provider?.realtime) throw new AppError("UPSTREAM_UNAVAILABLE", "The provider does not offer this operation.");
    const target = targetOf(attempt.deployment);
    const { url, headers } = provider.realtime.locate(target);
    const guard = deps.guard.guardFor(new URL(url).origin);
    const handshakeMs = Math.min(HANDSHAKE_MS, attempt.timeouts.totalMs);
    const options = { guard, proxyOf: deps.proxyOf, signal: call.signal, handshakeMs, messageBytesMax: MESSAGE_BYTES_MAX };
    return await openSocket({ url, headers: { ...headers, ...call.headers }, tls: target.tls }, options);
  } catch (thrown) {
    if (thrown instanceof RefusedHandshake && provider) return provider.readError(thrown.failure);
    if (thrown instanceof AppError) return thrown;
    const internal = isPlaceRefused(thrown) ? `${String(thrown)} (ALLOW_PRIVATE_UPSTREAMS)` : String(thrown);
    return new AppError("UPSTREAM_UNAVAILABLE", "The provider cannot be reached.", { internal, cause: thrown });
  }
}
