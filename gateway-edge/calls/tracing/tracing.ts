import type { Sampler } from "../../../common/tracing/sampler.ts";
import { parseTraceparent, type TraceParent } from "../../../common/tracing/traceparent.ts";
import type { UsageLog } from "../../../proto/gen/tributary/usage/v1/usage.ts";
import type { CallResponse, RequestHeadFields } from "../http-exchange.ts";
import { CallTrace, type CallTraceDeps, type TraceEnd } from "./call-trace.ts";
import type { TracedContent } from "./messages.ts";

const TRACE_ID_BYTES = 16;
/** As nginx says it: the client left before its answer. */
const CLIENT_LEFT_STATUS = 499;
const SERVER_ERROR_STATUS = 500;
const PATH_CHARACTERS_MAX = 200;

/** The traces of an edge's calls, by call id, from the request to its end. Absent where nothing is traced. */
export class Tracing {
  readonly #deps: CallTraceDeps & { readonly sampler: Sampler };
  readonly #traces = new Map<string, CallTrace>();

  constructor(deps: CallTraceDeps & { readonly sampler: Sampler }) {
    this.#deps = deps;
  }

  /** Begins the trace of a request, as a part of the caller's own if it sends a valid `traceparent`. Returns its id. */
  begin(callId: string, request: RequestHeadFields, response: CallResponse): string {
    const trace = this.#open(callId, parseTraceparent(request.headers["traceparent"]));
    response.once("close", () => {
      trace.closed(serverEnd(request, response));
      this.#forget(callId, trace);
    });
    return trace.traceId;
  }

  /** The trace of a call that begins: its request's, or a new one for background work. */
  callOf({ callId, endpoint }: { readonly callId: string; readonly endpoint: string }): CallTrace {
    const known = this.#traces.get(callId);
    const trace = known ?? this.#open(callId, undefined);
    trace.running();
    if (!known) trace.closed({ name: `call ${endpoint}`, kind: "internal", attributes: { "http.route": endpoint } });
    return trace;
  }

  /** A call has its row, which names the trace for the settlement; `content` if its organization agreed. */
  settling(log: UsageLog, content?: TracedContent): void {
    const trace = this.#traces.get(log.callId);
    if (!trace) return;
    log.traceparent = trace.settlementParent;
    trace.settling(log, content);
    this.#forget(log.callId, trace);
  }

  /** A client that leaves closes its response before the call is settled: the trace waits for both. */
  #forget(callId: string, { isFinished }: CallTrace): void {
    if (isFinished) this.#traces.delete(callId);
  }

  #open(callId: string, parent: TraceParent | undefined): CallTrace {
    const traceId = parent?.traceId ?? this.#deps.random.bytes(TRACE_ID_BYTES).toString("hex");
    const trace = new CallTrace(this.#deps, { callId, traceId, parent, isSampled: this.#deps.sampler(traceId, parent) });
    this.#traces.set(callId, trace);
    return trace;
  }
}

function serverEnd({ method, url }: RequestHeadFields, response: CallResponse): TraceEnd {
  const status = response.writableFinished ? response.statusCode : CLIENT_LEFT_STATUS;
  const route = String(response.locals["route"] ?? "");
  const isError = status >= SERVER_ERROR_STATUS;
  return {
    name: `${method} ${route}`,
    kind: "server",
    attributes: {
      "http.request.method": method,
      "http.route": route,
      // Without the query, which may have a key.
      "url.path": url.split("?", 1)[0]?.slice(0, PATH_CHARACTERS_MAX),
      "http.response.status_code": status,
      ...(isError ? { "error.type": String(status) } : {}),
    },
    error: isError ? String(status) : undefined,
  };
}
