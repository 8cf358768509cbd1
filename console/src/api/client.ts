import { orElse } from "../../../common/ignore.ts";

/** A failed API call, with the message for the user and the request ID for the operator's logs. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly requestId: string | undefined;
  readonly details: readonly { path: string; message: string }[];

  constructor(facts: { status: number; code: string; message: string; requestId?: string | undefined; details?: ApiError["details"] }) {
    super(facts.message);
    this.name = "ApiError";
    this.status = facts.status;
    this.code = facts.code;
    this.requestId = facts.requestId;
    this.details = facts.details ?? [];
  }
}

const NO_JSON = "an answer without JSON is described by its status";

export type Query = Readonly<Record<string, string | number | boolean | undefined | null>>;

export interface CallOptions {
  readonly query?: Query;
  readonly body?: unknown;
  readonly signal?: AbortSignal;
  readonly headers?: Readonly<Record<string, string>>;
}

const CALL_MAX_MS = 30_000;

/** Calls the platform API. The session is an HttpOnly cookie, which scripts cannot read. */
export async function call<Answer>(method: string, path: string, options: CallOptions = {}): Promise<Answer> {
  return (await callWithHeaders<Answer>(method, path, options)).body;
}

/** Calls the platform API and also returns the response headers. */
export async function callWithHeaders<Answer>(
  method: string,
  path: string,
  options: CallOptions = {},
): Promise<{ body: Answer; headers: Headers }> {
  const limit = AbortSignal.timeout(CALL_MAX_MS);
  const response = await send(path + queryText(options.query), {
    method,
    headers: {
      accept: "application/json",
      ...(options.body === undefined ? {} : { "content-type": "application/json" }),
      // A write that the browser repeats or that a double click sends twice is applied once.
      ...(method === "GET" ? {} : { "idempotency-key": randomId() }),
      ...options.headers,
    },
    ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
    signal: options.signal ? AbortSignal.any([options.signal, limit]) : limit,
  });
  const body: unknown = await orElse(response.json(), undefined, NO_JSON);
  if (!response.ok) throw toError(response, body);
  return { body: body as Answer, headers: response.headers };
}

const TEXT_MAX_MS = 300_000;

/** Downloads a text file, such as an export, with a longer timeout. */
export async function getText(path: string, query: Query): Promise<string> {
  const response = await send(path + queryText(query), { method: "GET", signal: AbortSignal.timeout(TEXT_MAX_MS) });
  if (!response.ok) throw toError(response, await orElse(response.json(), undefined, NO_JSON));
  return response.text();
}

/** Opens a streaming response; it ends with the caller's signal and has no other timeout. */
export async function openStream(
  path: string,
  options: Required<Pick<CallOptions, "body" | "signal" | "headers">>,
): Promise<ReadableStream<Uint8Array>> {
  const headers = { "content-type": "application/json", ...options.headers };
  const response = await send(path, { method: "POST", headers, body: JSON.stringify(options.body), signal: options.signal });
  if (!response.ok || response.body === null) throw toError(response, await orElse(response.json(), undefined, NO_JSON));
  return response.body;
}

/** Sends a call of the gateway API and returns its answer as it is: JSON, or bytes such as speech. */
export async function openAnswer(path: string, options: Required<Pick<CallOptions, "body" | "headers">>): Promise<Blob> {
  const headers = { "content-type": "application/json", ...options.headers };
  const signal = AbortSignal.timeout(TEXT_MAX_MS);
  const response = await send(path, { method: "POST", headers, body: JSON.stringify(options.body), signal });
  if (!response.ok) throw toError(response, await orElse(response.json(), undefined, NO_JSON));
  return response.blob();
}

export const get = <Answer>(path: string, query?: Query, signal?: AbortSignal): Promise<Answer> =>
  call<Answer>("GET", path, { ...(query ? { query } : {}), ...(signal ? { signal } : {}) });

export const post = <Answer>(path: string, body: unknown = {}): Promise<Answer> => call<Answer>("POST", path, { body });

/** The address of a file that the browser downloads by itself, with its cookie. */
export const exportUrl = (path: string, query: Query): string => path + queryText(query);

/** Builds the query string without unset and empty values. */
function queryText(query: Query | undefined): string {
  const pairs = Object.entries(query ?? {}).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return pairs.length === 0 ? "" : `?${new URLSearchParams(pairs.map(([name, value]) => [name, String(value)]))}`;
}

/** `crypto.randomUUID` exists only on https and loopback; a console on a private network is neither. */
function randomId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

async function send(path: string, request: RequestInit): Promise<Response> {
  try {
    return await fetch(path, { credentials: "same-origin", cache: "no-store", ...request });
  } catch (cause) {
    if (request.signal?.aborted && cause instanceof DOMException && cause.name === "AbortError") throw cause;
    const late = cause instanceof DOMException && cause.name === "TimeoutError";
    const message = late ? "The request timed out. Try again." : "The server cannot be reached. Check the connection and try again.";
    throw new ApiError({ status: 0, code: late ? "TIMEOUT" : "NETWORK", message });
  }
}

/** Reads both error formats: the platform's `{error, code}` and the gateway's `{error: {message, code}}`. */
function toError(response: Response, body: unknown): ApiError {
  const given = (body ?? {}) as { error?: unknown; code?: string; requestId?: string; details?: ApiError["details"] };
  const inner =
    typeof given.error === "object" && given.error !== null
      ? (given.error as { message?: string; code?: string; type?: string })
      : undefined;
  return new ApiError({
    status: response.status,
    code: given.code ?? inner?.code ?? inner?.type ?? `HTTP_${response.status}`,
    message: (typeof given.error === "string" ? given.error : inner?.message) ?? `The server responded with HTTP ${response.status}.`,
    requestId: given.requestId ?? response.headers.get("x-request-id") ?? undefined,
    details: Array.isArray(given.details) ? given.details : [],
  });
}
