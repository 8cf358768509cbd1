import { randomUUID } from "node:crypto";
import { fromJson, toJson } from "../../common/json.ts";
import { CliError, interrupted } from "../cli-error.ts";
import { EXIT } from "../exit-codes.ts";
import { apiError, networkError } from "./api-error.ts";
import { maskedBody, maskedHeader } from "./mask.ts";

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** The credential of a request: none, the user's token if there is one, that token, an API key, or whichever of the two overrides the other. */
export type Auth = "none" | "optional" | "user" | "key" | "either";

export interface ApiRequest {
  readonly method: string;
  readonly path: string;
  readonly query?: Readonly<Record<string, string | undefined>> | undefined;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Sent as it is, in place of `body`, without a timeout. */
  readonly content?: Blob;
  readonly auth: Auth;
  readonly headers?: Readonly<Record<string, string>>;
  /** For streams and other long responses: no timeout once the response has started. */
  readonly untimed?: boolean;
  /** How long the response may at least take to start, for operations that work long before they answer. */
  readonly timeoutMs?: number;
}

export interface ApiAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** Parsed JSON with integers as bigint, or the text if it is not JSON. */
  readonly body: unknown;
  readonly text: string;
}

export interface Client {
  send(request: ApiRequest): Promise<ApiAnswer>;
  /** Returns the response itself, for streams; error statuses throw as in `send`. */
  open(request: ApiRequest): Promise<Response>;
}

export interface ClientOptions {
  readonly baseUrl: string;
  readonly timeoutMs: number;
  readonly dryRun: boolean;
  readonly idempotencyKey: string | undefined;
  readonly signal: AbortSignal;
  /** Returns the credential header; throws if no credential is available. */
  readonly authorize: (auth: Auth) => Promise<Record<string, string>>;
  /** Prints a line of --verbose; undefined without --verbose. */
  readonly trace: ((line: string) => void) | undefined;
}

/** Thrown instead of sending a write when --dry-run is set. */
export class DryRun extends Error {
  readonly request: unknown;
  constructor(request: unknown) {
    super("dry run");
    this.request = request;
  }
}

export function createClient(options: ClientOptions): Client {
  const open = (request: ApiRequest) => openResponse(options, request);
  return {
    open,
    async send(request) {
      const response = await open(request);
      const text = await response.text().catch((cause: unknown) => {
        throw failure(options, cause);
      });
      return { status: response.status, headers: response.headers, text, body: parsed(text) };
    },
  };
}

async function openResponse(options: ClientOptions, request: ApiRequest): Promise<Response> {
  const url = urlOf(options.baseUrl, request);
  const write = request.method !== "GET" && request.method !== "HEAD";
  if (write && options.dryRun) throw new DryRun({ method: request.method, url, body: maskedBody(request.body) ?? null });
  const key = write ? (options.idempotencyKey ?? `gw-${randomUUID()}`) : undefined;
  const headers: Record<string, string> = {
    accept: "application/json, text/event-stream;q=0.9, */*;q=0.5",
    ...(request.body === undefined ? {} : { "content-type": "application/json" }),
    ...(request.content ? { "content-type": "application/octet-stream" } : {}),
    ...(key === undefined ? {} : { "idempotency-key": key }),
    ...(await options.authorize(request.auth)),
    ...request.headers,
  };
  traceRequest(options, { method: request.method, url, headers, body: request.body });
  const response = await exchange(options, { url, headers, request });
  if (response.ok) return response;
  const text = await response.text();
  const refused = apiError({ status: response.status, headers: response.headers, body: parsed(text), text });
  throw key !== undefined && refused.facts.retryable ? withKey(refused, key) : refused;
}

async function exchange(
  options: ClientOptions,
  { url, headers, request }: { url: string; headers: Record<string, string>; request: ApiRequest },
): Promise<Response> {
  const began = performance.now();
  const deadline = new AbortController();
  const late = () => deadline.abort(new DOMException("timeout", "TimeoutError"));
  const timer = request.content ? undefined : setTimeout(late, Math.max(options.timeoutMs, request.timeoutMs ?? 0));
  try {
    const response = await fetch(url, {
      method: request.method,
      headers,
      redirect: "manual",
      signal: AbortSignal.any([options.signal, deadline.signal]),
      ...(request.body === undefined ? {} : { body: toJson(request.body) }),
      ...(request.content ? { body: request.content } : {}),
    });
    const took = Math.round(performance.now() - began);
    options.trace?.(`< ${response.status} in ${took} ms, x-request-id: ${response.headers.get("x-request-id") ?? "none"}`);
    return response;
  } catch (cause) {
    const failed = failure(options, cause);
    const key = headers["idempotency-key"];
    throw key === undefined ? failed : withKey(failed, key);
  } finally {
    if (request.untimed) clearTimeout(timer);
    else timer?.unref();
  }
}

function failure(options: ClientOptions, cause: unknown): CliError {
  return options.signal.aborted ? interrupted() : networkError(options.baseUrl, cause);
}

/** The outcome of the write is unknown; a retry with the same idempotency key cannot apply it twice. */
function withKey(error: CliError, key: string): CliError {
  if (error.exit === EXIT.interrupted) return error;
  const repeat = `Retry with --idempotency-key ${key} so that the request is not applied twice.`;
  return new CliError(error.exit, { ...error.facts, hint: error.facts.hint ? `${error.facts.hint} ${repeat}` : repeat });
}

function urlOf(baseUrl: string, { path, query }: ApiRequest): string {
  const url = new URL(baseUrl + path);
  for (const [name, value] of Object.entries(query ?? {})) if (value !== undefined) url.searchParams.set(name, value);
  return url.href;
}

function parsed(text: string): unknown {
  try {
    return fromJson(text);
  } catch {
    return text;
  }
}

function traceRequest(
  { trace }: ClientOptions,
  sent: { method: string; url: string; headers: Record<string, string>; body: unknown },
): void {
  if (!trace) return;
  trace(`> ${sent.method} ${sent.url}`);
  for (const [name, value] of Object.entries(sent.headers)) trace(`> ${name}: ${maskedHeader(name, value)}`);
  if (sent.body !== undefined) trace(`> ${toJson(maskedBody(sent.body))}`);
}
