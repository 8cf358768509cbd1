import type { IncomingHttpHeaders } from "node:http";
import { Readable } from "node:stream";
import type { Dispatcher } from "undici";
import { isPlaceRefused, type Resolve } from "../../../common/checked-lookup.ts";
import type { Clock } from "../../../common/clock.ts";
import { createGuard } from "../../../common/outbound.ts";
import { guardedDispatcher } from "../../../common/outbound-undici.ts";
import type { Random } from "../../../common/random.ts";
import { signatureHeaders } from "../../../common/training/call-signature.ts";
import { createSharedFiles } from "../blobs/shared-files.ts";
import { createJsonFiles, type JsonBody } from "./json-parameters.ts";
import { ParticipantProblem } from "./participant-problem.ts";

/** The address of a participant, and the credentials of its calls. */
export interface NodeAddress {
  readonly url: string;
  readonly secret: string;
  readonly token: string;
  /** The organization of the call, so that a shared node can separate tenants; empty for the organization's own node. */
  readonly tenantId: string;
}

/** The body of a call to a participant. */
export type CallBody = KnownBody | JsonBody;

interface KnownBody {
  /** SHA-256 in hex, which the signature covers. */
  readonly sha256: string;
  readonly bytes: number;
  /** Bytes in memory, or a file that is read while it is sent. */
  readonly content: Uint8Array | { readonly path: string };
  readonly type: string;
}

/** A participant's HTTP answer. */
export interface NodeAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Readable;
}

/** Sends one HTTP call to a participant. */
export type CallNode = (
  node: NodeAddress,
  call: {
    method: "GET" | "POST";
    path: string;
    headers?: Readonly<Record<string, string>>;
    body?: CallBody | undefined;
    /** Called with each report of progress that the participant sends before its answer. */
    onProgress?: ((fraction: number) => void) | undefined;
  },
  signal: AbortSignal,
) => Promise<NodeAnswer>;

const CONNECT_MS = 5000;
/** Asks a participant for interim responses (102), and names the progress in each. */
export const PROGRESS_HEADER = "x-progress";

/**
 * HTTP calls to participants. Redirects are not followed, so that only the named participant is called. A participant that pauses for
 * `idleMs` within its answer is considered lost; the round's deadline limits the work itself.
 */
export function createNodeCalls(options: {
  clock: Clock;
  random: Random;
  idleMs: number;
  /** Whether participants may be in the operator's private network; true if absent. */
  allowPrivate?: boolean;
  resolve?: Resolve;
}): { call: CallNode; close(): Promise<void> } {
  const { clock, random, idleMs, allowPrivate = true, resolve } = options;
  const connect = { timeout: CONNECT_MS };
  const timeouts = { headersTimeout: 0, bodyTimeout: idleMs, keepAliveTimeout: 10_000 };
  const agent = guardedDispatcher(createGuard({ allowPrivate, resolve }), { ...timeouts, connect });
  const files = createSharedFiles();
  const jsonFiles = createJsonFiles();
  const sendable = (body: CallBody): Uint8Array | Readable => {
    if ("json" in body) return streamOf(jsonFiles.pieces(body.json));
    return body.content instanceof Uint8Array ? body.content : streamOf(files.read(body.content.path));
  };
  /** The hash that the signature covers. */
  const hashOf = async (body: CallBody | undefined): Promise<string> => {
    if (!body) return "";
    return "json" in body ? jsonFiles.sha256(body.json) : body.sha256;
  };
  const call: CallNode = async (node, asking, signal) => {
    const { method, path, body, onProgress } = asking;
    const base = new URL(node.url);
    const fullPath = base.pathname.replace(/\/$/, "") + path;
    const asked = headersOf(node, asking);
    const signed = { method, path: fullPath, headers: asked, bodySha256: await hashOf(body) };
    const sent: Dispatcher.RequestOptions = {
      origin: base.origin,
      path: fullPath,
      method,
      signal,
      headers: { ...asked, ...signatureHeaders(node.secret, signed, { clock, random }) },
      ...(onProgress ? { onInfo: ({ headers: info }) => reportProgress(info[PROGRESS_HEADER], onProgress) } : {}),
      ...(body ? { body: sendable(body) } : {}),
    };
    try {
      const { statusCode: status, headers: answered, body: answer } = await agent.request(sent);
      return { status, headers: answered, body: answer };
    } catch (cause) {
      signal.throwIfAborted();
      throw unreachable(cause);
    }
  };
  return { call, close: () => agent.destroy() };
}

function headersOf({ token, tenantId }: NodeAddress, { headers, body, onProgress }: Parameters<CallNode>[1]): Record<string, string> {
  return {
    ...headers,
    ...(body ? { "content-type": body.type, "content-length": String(body.bytes) } : {}),
    ...(token === "" ? {} : { authorization: `Bearer ${token}` }),
    ...(tenantId === "" ? {} : { "x-gw-tenant": tenantId }),
    ...(onProgress ? { [PROGRESS_HEADER]: "interim" } : {}),
  };
}

function reportProgress(header: unknown, onProgress: (fraction: number) => void): void {
  const fraction = readProgress(header === undefined ? undefined : Number(header));
  if (fraction !== undefined) onProgress(fraction);
}

/** A fraction from 0 to 1; undefined for anything else. */
export const readProgress = (value: unknown): number | undefined =>
  typeof value === "number" && value >= 0 && value <= 1 ? value : undefined;

/**
 * Only one piece is read ahead, because there may be many receivers, and of shared pieces two are valid at a time. A piece is larger than a
 * socket's buffer, so the next one is sent when it is gone.
 */
const streamOf = (pieces: AsyncIterable<Uint8Array>): Readable => Readable.from(pieces, { objectMode: false, highWaterMark: 1 });

const PRIVATE = "its address is private, and the operator does not allow private addresses (ALLOW_PRIVATE_NODES)";

function unreachable(cause: unknown): ParticipantProblem {
  if (isPlaceRefused(cause)) return new ParticipantProblem(PRIVATE, { again: false, cause });
  return new ParticipantProblem(`it cannot be reached: ${reasonOf(cause)}`, { again: true, cause });
}

/** Reads an answer up to a limit. An answer that ends early means that the participant went away. */
export async function readAnswer(answer: NodeAnswer, bytesMax: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of wholeBody(answer)) {
    bytes += chunk.byteLength;
    if (bytes > bytesMax) throw new ParticipantProblem(`it answered with more than ${bytesMax} bytes`, { again: false });
    chunks.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
  }
  return Buffer.concat(chunks);
}

/** The chunks of an answer; throws ParticipantProblem if it ends early. */
export async function* wholeBody({ body }: NodeAnswer): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of body) yield chunk as Uint8Array;
  } catch (cause) {
    throw new ParticipantProblem(`its answer ended early: ${reasonOf(cause)}`, { again: true, cause });
  }
}

/** Throws ParticipantProblem if a participant refuses to describe itself because the credentials of the call are missing or wrong. */
export function requireAccepted(answer: NodeAnswer): void {
  if (answer.status !== 401 && answer.status !== 403) return;
  const retryAfterMs = retryAfterMsOf(answer);
  if (retryAfterMs !== undefined)
    throw new ParticipantProblem("it has just started and asks for a new signature", { again: true, retryAfterMs });
  throw new ParticipantProblem(
    "it refused the call as unauthorized: set the node's token or secret for this participant of the federation",
    {
      again: false,
    },
  );
}

const ERROR_BYTES_MAX = 64 * 1024;
const BUSY = new Set([408, 425, 429, 502, 503, 504]);

/** Converts an error answer to a ParticipantProblem, with the participant's message if it has one. */
export async function refusal(answer: NodeAnswer): Promise<ParticipantProblem> {
  const text = await readAnswer(answer, ERROR_BYTES_MAX).then(String, () => "");
  const retryAfterMs = retryAfterMsOf(answer);
  const { error, code, details } = parse(text);
  const message = typeof error === "string" ? `: ${error.slice(0, 500)}` : "";
  // The earlier call, whose answer was lost, is still running.
  const isRunning = code === "IDEMPOTENCY_CONFLICT" && details?.status === "running";
  // The error kind is part of the reason, because a federation whose participants cannot bound their updates fails with it.
  const kind = code === "UNSUPPORTED_PARAMETERS" ? `${code}: ` : "";
  return new ParticipantProblem(`${kind}it answered ${answer.status}${message}`, {
    // A node that has just started refuses calls that were signed before; every attempt has a new signature.
    again: BUSY.has(answer.status) || isRunning || (answer.status === 401 && retryAfterMs !== undefined),
    retryAfterMs,
  });
}

function retryAfterMsOf({ headers }: NodeAnswer): number | undefined {
  const seconds = Number(headers["retry-after"]);
  return Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : undefined;
}

function parse(text: string): { error?: unknown; code?: unknown; details?: { status?: unknown } } {
  try {
    return Object(JSON.parse(text));
  } catch {
    return {};
  }
}

function reasonOf(cause: unknown): string {
  const { code, message } = Object(cause) as { code?: unknown; message?: unknown };
  return typeof code === "string" ? code : String(message ?? cause).slice(0, 200);
}
