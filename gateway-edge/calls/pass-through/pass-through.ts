import type { Request, Response } from "express";
import type { Clock } from "../../../common/clock.ts";
import { AppError } from "../../../common/errors.ts";
import { callerBlocked } from "../../../common/team-blocked.ts";
import type { Caller, Deployment } from "../../../proto/gen/tributary/access/v1/access.ts";
import type { Credit } from "../../credit/credit.ts";
import { refuseContainer, refuseFields } from "../../schemas/refused-fields.ts";
import { refuseUnpriced as refusePricedApart } from "../../upstream/providers/anthropic/unpriced.ts";
import type { Send } from "../../upstream/providers/provider.ts";
import { refuseClosedReferences } from "../../upstream/providers/shared/open-references.ts";
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
import { headersTo } from "./proxied-headers.ts";
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

const FREE_METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);

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
      const call = priceCall(upstream, { path: url.pathname, body, isFree });
      if (!isFree && !caller.isAdmin) {
        refuseUnpriced(call);
        refuseOperators(call, { body, contentType: request.headers["content-type"] });
      }
      const endpoint = `/${kind}${url.pathname}`.slice(0, 200);
      const proxiedCall = new ProxiedCall(deps, { callId, caller, call, upstream, endpoint, tags: traceTagsOf(request) });
      await deps.credit.reserve({
        intent: proxiedCall.intent(),
        model: call.deployment?.modelName ?? call.model ?? kind,
        tokens: isFree ? 0 : call.inputTokens,
        isLimited: caller.isLimited || (call.deployment !== undefined && hasLimit(call.deployment)),
      });
      // From here on credit is reserved: every way out goes through exactly one settlement.
      try {
        const client = leaving(response);
        const end = new AbortController();
        const cancelEnd = deps.clock.after(CALL_MS_MAX, () => end.abort(tookTooLong()));
        response.once("close", cancelEnd);
        const ids = { "x-request-id": String(response.getHeader("x-request-id")), ...traceHeader(deps, { kind, callId, call }) };
        const headers = { ...headersTo(upstream, request.headers), ...ids };
        const answer = await deps
          .send(toTarget({ method: request.method, url: url.href, headers, body }, upstream), AbortSignal.any([client, end.signal]))
          .catch(unreachable);
        await proxiedCall.deliver(answer, { response, client });
      } catch (thrown) {
        throw await proxiedCall.fail(thrown, response);
      }
    },
  };
}

/** Begins the span of a traced call; the provider gets its place in the trace, instead of the client's. */
function traceHeader({ tracing }: PassThroughDeps, { kind, callId, call }: { kind: string; callId: string; call: PricedCall }) {
  if (!tracing) return undefined;
  const deployment = call.deployment ?? { id: "", providerKind: kind, inferenceModelId: call.model ?? kind };
  const trace = tracing.callOf({ callId, endpoint: `/${kind}` });
  return { traceparent: trace.attempting(deployment, { operation: "pass_through", stream: call.stream }) };
}

/** Aborts when the client closes the connection before its answer is complete. */
function leaving(response: Response): AbortSignal {
  const client = new AbortController();
  response.once("close", () => {
    if (!response.writableFinished) client.abort(new Error("the client left"));
  });
  return client.signal;
}

/** No timeout is configured for these calls. */
const CALL_MS_MAX = 30 * 60_000;

function tookTooLong(): AppError {
  return new AppError("UPSTREAM_TIMEOUT", `The provider's answer took longer than ${CALL_MS_MAX / 60_000} minutes.`);
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

/** A call that passes through is billed by the tokens of a model with a price, and by nothing else. */
function refuseUnpriced({ prices, beside }: PricedCall): void {
  const unknown = "The price of this call is not known: the request names no model with a price.";
  if (!prices) throw new AppError("INVALID_REQUEST", unknown, { param: "model" });
  if (beside === undefined) return;
  const { what, param, isBilledElsewhere } = beside;
  const advice = isBilledElsewhere ? "Use /v1/responses, /v1/messages or /v1/chat/completions, or the master key." : "Use the master key.";
  const message = `The provider bills ${what} beside the tokens, and calls that pass through are billed by tokens only. ${advice}`;
  throw new AppError("INVALID_REQUEST", message, { param });
}

/** What is refused from clients in the gateway's own APIs: the provider cannot tell the tenants from the operator here either. */
function refuseOperators({ fields }: PricedCall, { body, contentType = "" }: { body: Buffer; contentType: string | undefined }): void {
  if (fields) {
    refuseFields(fields);
    refuseContainer(fields["container"]);
    refuseClosedReferences(fields);
    refusePricedApart(fields);
  } else if (body.length > 0 && !/^multipart\//i.test(contentType)) {
    // Providers read texts as JSON that are none here, and nothing would have checked them.
    throw new AppError("INVALID_JSON", "The body is not a JSON object.");
  }
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
