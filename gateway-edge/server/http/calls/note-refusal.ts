import type { AppError } from "../../../../common/errors.ts";
import type { Caller } from "../../../../proto/gen/tributary/access/v1/access.ts";
import type { Inference } from "../../../calls/create.ts";
import type { CallRequest, CallResponse } from "../../../calls/http-exchange.ts";
import type { Refusal } from "../../../calls/refusals.ts";
import { traceTagsOf } from "../../../calls/tracing/trace-tag.ts";
import type { Gate } from "../gate.ts";
import { pathModelOf } from "./read-call.ts";

/** Writes a row for a call that its caller's request, key or credit did not allow. An error of the server is not a refusal. */
export function noteRefusal(inference: Pick<Inference, "refused">, statusOf: (error: AppError) => number): NonNullable<Gate["onRefused"]> {
  return (error, request, response) => {
    const caller = response.locals["caller"] as Caller | undefined;
    const httpStatus = statusOf(error);
    // Only a POST makes a call. A client that left was not refused, and a repeated call has its row.
    if (!caller || httpStatus >= 500 || request.method !== "POST" || response.destroyed || error.code === "IDEMPOTENCY_CONFLICT") return;
    const callId = String(response.locals["callId"]);
    inference.refused({ callId, caller, endpoint: endpointOf(response), ...requested(request, response), error, httpStatus });
  };
}

/** The route of the request; a plain one as it is documented, under /v1. */
function endpointOf(response: CallResponse): string {
  const route = String(response.locals["route"]);
  return route.startsWith("/v1/") || /[:*]/.test(route) ? route : `/v1${route}`;
}

function requested(request: CallRequest, response: CallResponse): Pick<Refusal, "model" | "stream" | "endUser" | "tags"> {
  const { model, stream, user } = (response.locals["body"] ?? {}) as { model?: unknown; stream?: unknown; user?: unknown };
  return {
    model: pathModelOf(request) ?? (typeof model === "string" ? model : ""),
    stream: stream === true,
    endUser: typeof user === "string" ? user : undefined,
    tags: traceTagsOf(request),
  };
}
