import type { Request, Response } from "express";
import type { Clock } from "../../../common/clock.ts";
import { AppError } from "../../../common/errors.ts";
import { callerBlocked } from "../../../common/team-blocked.ts";
import type { Caller, Deployment } from "../../../proto/gen/tributary/access/v1/access.ts";
import type { Credit } from "../../credit/credit.ts";
import type { Send } from "../../upstream/providers/provider.ts";
import { lenientFields, lenientFlag, readFields } from "../../upstream/routing/lenient.ts";
import { toTarget } from "../../upstream/target.ts";
import type { GuardrailLayer } from "../guardrails/guardrail-layer.ts";
import { hasLimit } from "../inference/able-group.ts";
import { readBody } from "../read-body.ts";
import { sandboxAnswer } from "../sandboxed-answer.ts";
import { traceTagsOf } from "../tracing/trace-tag.ts";
import type { Tracing } from "../tracing/tracing.ts";
import { locate } from "./locate.ts";
import { type PricedCall, priceCall } from "./price-call.ts";
import { ProxiedCall } from "./proxied-call.ts";
import { ProxiedConnection } from "./proxied-connection.ts";
import { headersTo } from "./proxied-headers.ts";
import { refuseCall } from "./refusals.ts";
import { sentBody } from "./sent-body.ts";
import { findUpstreams, type Upstream } from "./upstreams.ts";

export interface PassThroughDeps {
  readonly credit: Pick<Credit, "reserve" | "settle">;
  readonly guardrails: Pick<GuardrailLayer, "chosenFor">;
  readonly send: Send;
  readonly clock: Clock;
  /** Absent: calls are not traced. */
  readonly tracing?: Tracing | undefined;
  readonly bodyBytesMax: number;
  /** How long a client may read nothing of its answer. */
  readonly stallMs: number;
}

/** A provider's own API under the gateway's key: authenticated, priced where its model is known, settled once like every call. */
export interface PassThrough {
  update(deployments: readonly Deployment[], settingsJson: string): void;
  handle(kind: string, exchange: { request: Request; response: Response; callId: string; caller: Caller }): Promise<void>;
}

const FREE_METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS", "DELETE"]);

export function createPassThrough(deps: PassThroughDeps): PassThrough {
  let upstreams: ReadonlyMap<string, Upstream> = new Map();
  let access: Access = { isOpen: false, isAccountOpen: false };
  return {
    update(deployments, settingsJson) {
      upstreams = findUpstreams(deployments);
      access = accessIn(settingsJson);
    },
    async handle(kind, { request, response, callId, caller }) {
      sandboxAnswer(response);
      refuse(deps, caller, access);
      const upstream = upstreams.get(kind);
      if (!upstream) throw new AppError("NOT_FOUND", `No deployment of the provider ${kind} has an API key. Ask the operator to add one.`);
      const url = locate(upstream, request, `/${kind}`);
      if (request.method !== "POST" && !caller.isAdmin && !access.isAccountOpen) throw accountIsShared(request.method);
      const body = await readBody(request, deps.bodyBytesMax);
      const isFree = FREE_METHODS.has(request.method);
      const call = priceCall(upstream, { pathname: url.pathname, body, isFree });
      if (!isFree && !caller.isAdmin) refuseCall(call, body);
      const endpoint = `/${kind}${url.pathname}`.slice(0, 200);
      const proxiedCall = new ProxiedCall(deps, { callId, caller, call, upstream, endpoint, tags: traceTagsOf(request) });
      await deps.credit.reserve({
        intent: proxiedCall.intent(),
        model: call.deployment?.modelName ?? call.model ?? kind,
        tokens: call.operation === "free" ? 0 : call.inputTokens,
        isLimited: caller.isLimited || (call.deployment !== undefined && hasLimit(call.deployment)),
      });
      await forward(deps, proxiedCall, { upstream, call, body, url, request, response, kind, callId });
    },
  };
}

interface Forwarded {
  readonly upstream: Upstream;
  readonly call: PricedCall;
  readonly body: Buffer;
  readonly url: URL;
  readonly request: Request;
  readonly response: Response;
  readonly kind: string;
  readonly callId: string;
}

/** Credit is reserved: every way out goes through exactly one settlement. */
async function forward(deps: PassThroughDeps, proxiedCall: ProxiedCall, { upstream, call, url, request, response, ...given }: Forwarded) {
  const connection = new ProxiedConnection(response, deps.clock);
  try {
    const { body, hidesUsage } = sentBody(call, upstream, given.body);
    const ids = { "x-request-id": String(response.getHeader("x-request-id")), ...traceHeader(deps, { ...given, call }) };
    const headers = { ...headersTo(upstream, request.headers), ...ids };
    const sent = toTarget({ method: request.method, url: url.href, headers, body }, upstream);
    const answer = await deps.send(sent, connection.signal).catch(unreachable);
    connection.answering();
    await proxiedCall.deliver(answer, { response, connection, hidesUsage });
  } catch (thrown) {
    throw await proxiedCall.fail(thrown, response);
  } finally {
    connection.done();
  }
}

/** Begins the span of a traced call; the provider gets its place in the trace, instead of the client's. */
function traceHeader({ tracing }: PassThroughDeps, { kind, callId, call }: { kind: string; callId: string; call: PricedCall }) {
  if (!tracing) return undefined;
  const deployment = call.deployment ?? { id: "", providerKind: kind, inferenceModelId: call.model ?? kind };
  const trace = tracing.callOf({ callId, endpoint: `/${kind}` });
  return { traceparent: trace.attempting(deployment, { operation: "pass_through", stream: call.stream }) };
}

function unreachable(cause: unknown): never {
  if (cause instanceof AppError) throw cause;
  throw new AppError("UPSTREAM_UNAVAILABLE", "The provider cannot be reached.", { internal: String(cause), cause });
}

/** What keys other than the master key may do. */
interface Access {
  readonly isOpen: boolean;
  /** Calls that are not billed for a model, such as lists of files. */
  readonly isAccountOpen: boolean;
}

function accessIn(settingsJson: string): Access {
  const settings = lenientFields.parse(readFields(settingsJson)["general_settings"]);
  const isSet = (name: string) => lenientFlag.parse(settings?.[name]) ?? false;
  return { isOpen: isSet("pass_through"), isAccountOpen: isSet("pass_through_account") };
}

/** Files, batches and stored responses of the provider account belong to all tenants of the gateway. */
function accountIsShared(method: string): AppError {
  return new AppError(
    "FORBIDDEN",
    `${method} is only for the master key: it reaches objects of the provider account, which all tenants share. The operator can allow it with general_settings.pass_through_account.`,
  );
}

function refuse(deps: PassThroughDeps, caller: Caller, { isOpen }: Access): void {
  if (caller.status === "team_blocked") throw callerBlocked(caller);
  const isBound = caller.models !== undefined || caller.teamModels !== undefined;
  if (!caller.isAdmin && (!isOpen || isBound)) {
    const why = isOpen ? "This API key is restricted to a list of models" : "general_settings.pass_through is not set";
    throw new AppError("FORBIDDEN", `Providers cannot be called directly with this API key: ${why}.`);
  }
  if (deps.guardrails.chosenFor({ caller, request: undefined }).length > 0) {
    throw new AppError("FORBIDDEN", "Guardrails apply to this API key, and they cannot read pass-through calls.");
  }
}
