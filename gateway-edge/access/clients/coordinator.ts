import { AppError } from "../../../common/errors.ts";
import { isTrustedAddress } from "../../../common/peers/coordinator-address.ts";
import { peerFetch } from "../../../common/peers/peer-fetch.ts";
import type { PeerTls } from "../../../common/peers/tls.ts";
import type { Capability } from "../../../common/training/capabilities.ts";

/** The result of a federation's verification. */
export interface Verification {
  ok: boolean;
  rounds: number;
  remade: number;
  firstBad: { round: number; reason: string } | null;
}

interface Score {
  accuracy: number | null;
  loss: number | null;
}

/** A federation's rounds, aggregated again with another strategy. */
export interface FederationReplay {
  strategy: Record<string, unknown>;
  rounds: { round: number; parameters: string; original: Score; replayed: Score }[];
}

export interface BlobCall {
  readonly sha256: string;
  readonly tenant: string;
  readonly method: "GET" | "HEAD" | "PUT" | "DELETE";
  /** Of an upload. */
  readonly body?: AsyncIterable<Uint8Array> | undefined;
  /** The size that the upload announced. */
  readonly bytes?: string | undefined;
}

export interface BlobStorage {
  readonly used: number;
  /** Null: no limit. */
  readonly limit: number | null;
}

interface CallOptions {
  deadlineMs: number;
  signal?: AbortSignal | undefined;
  /** As for calls to the control plane; of it the coordinator gets the request id. */
  metadata?: Readonly<Record<string, string | undefined>> | undefined;
}

/** Why a blob cannot be served; null: it can. */
export interface Servable {
  readonly problem: string | null;
}

/** The coordinator's HTTP API: operations that need the bytes of updates and models, which only the coordinator has. */
export interface CoordinatorClient {
  verify(federationId: string, options: CallOptions): Promise<Verification>;
  replay(federationId: string, body: object, options: CallOptions): Promise<FederationReplay>;
  /** Whether the coordinator has a blob; with a tenant, one of that organization. */
  hasBlob(sha256: string, options: CallOptions & { tenant?: string | undefined }): Promise<boolean>;
  /** Reads, uploads or deletes a blob of a tenant; of any with "". The response's body is not read yet. */
  blob(asked: BlobCall, options: CallOptions): Promise<Response>;
  /** The bytes of a tenant's blobs, and their limit. */
  storage(tenant: string, options: CallOptions): Promise<BlobStorage>;
  /** A model as a file. The response's body is not read yet. */
  parameters(
    asked: { sha256: string; format: string | undefined; ifNoneMatch: string | undefined; method: string },
    options: CallOptions,
  ): Promise<Response>;
  /** Why a federation with these settings cannot start from a blob; undefined if it can. */
  initialProblem(asked: { sha256: string; settings: object }, options: CallOptions): Promise<string | undefined>;
  /** Why a blob cannot be served as a model of a built-in task, or a null problem; undefined if the coordinator does not have it. */
  servable(sha256: string, task: string, options: CallOptions): Promise<Servable | undefined>;
  /** Which of these participants, or of all, can serve the federation's model with their own function. */
  servers(federationId: string, participants: readonly string[] | undefined, options: CallOptions): Promise<ServingParticipants>;
  /** The participants that lack a needed capability, by their index. */
  unable(
    asked: { participants: readonly { url: string; token: string; secret: string }[]; needs: readonly Capability[] },
    options: CallOptions,
  ): Promise<readonly { index: number; missing: readonly Capability[] }[]>;
}

/** Which participants can serve a federation's model. */
export interface ServingParticipants {
  readonly servers: readonly string[];
  readonly cannot: readonly { readonly participant: string; readonly reason: string }[];
}

interface CoordinatorAddress {
  readonly coordinatorUrl: string;
  readonly coordinatorToken: string | undefined;
  readonly tls?: PeerTls | undefined;
}

const fetches = new WeakMap<CoordinatorAddress, typeof fetch>();

/** The client of COORDINATOR_URL. */
export function connectCoordinator(config: CoordinatorAddress): CoordinatorClient {
  return createClient(config, config.coordinatorUrl);
}

/** The address of the coordinator that the control plane names as the holder of a federation; COORDINATOR_URL if it names none. */
export function holderAddress({ coordinatorUrl, tls }: CoordinatorAddress, holder: string): string {
  return isTrustedAddress(holder, { hasTls: tls !== undefined }) ? holder : coordinatorUrl;
}

type FederationReads = Pick<CoordinatorClient, "verify" | "replay" | "hasBlob" | "servable" | "parameters" | "servers">;

/** Reads of one federation, from the coordinator that holds it. If it cannot be reached, COORDINATOR_URL is asked, which may have copies. */
export function connectHolder(config: CoordinatorAddress, holder: string): FederationReads {
  const fallback = connectCoordinator(config);
  const address = holderAddress(config, holder);
  if (address === config.coordinatorUrl) return fallback;
  const first = createClient(config, address);
  const either = async <Answer>(ask: (client: FederationReads) => Promise<Answer>): Promise<Answer> => {
    try {
      return await ask(first);
    } catch (thrown) {
      if (!(thrown instanceof AppError) || thrown.code !== "UPSTREAM_UNAVAILABLE") throw thrown;
      return ask(fallback);
    }
  };
  return {
    verify: (...asked) => either((client) => client.verify(...asked)),
    replay: (...asked) => either((client) => client.replay(...asked)),
    hasBlob: (...asked) => either((client) => client.hasBlob(...asked)),
    servable: (...asked) => either((client) => client.servable(...asked)),
    parameters: (...asked) => either((client) => client.parameters(...asked)),
    servers: (...asked) => either((client) => client.servers(...asked)),
  };
}

/** One for all requests of an edge, because with TLS it has its own connections. */
function fetchOf(config: CoordinatorAddress): typeof fetch {
  const send = fetches.get(config) ?? peerFetch(config.tls, "coordinator");
  fetches.set(config, send);
  return send;
}

function createClient(config: CoordinatorAddress, coordinatorUrl: string): CoordinatorClient {
  const send = fetchOf(config);
  const { coordinatorToken } = config;
  const authorization: Record<string, string> = coordinatorToken === undefined ? {} : { authorization: `Bearer ${coordinatorToken}` };
  const ask: Ask = async (path, { deadlineMs, signal, metadata }, { method, body, tenant = "" }) => {
    try {
      const answer = await send(coordinatorUrl + path, {
        method,
        headers: {
          ...authorization,
          ...requestHeader(metadata),
          ...tenantHeader(tenant),
          ...(body ? { "content-type": "application/json" } : {}),
        },
        body: body ? JSON.stringify(body) : null,
        signal: AbortSignal.any([AbortSignal.timeout(deadlineMs), ...(signal ? [signal] : [])]),
      });
      return { status: answer.status, text: await answer.text() };
    } catch (cause) {
      throw unreachable(cause);
    }
  };
  return {
    ...federationCalls(ask),
    hasBlob: async (sha256, { tenant = "", ...options }) => {
      const answer = await ask(`/v1/blobs/${encodeURIComponent(sha256)}`, options, { method: "HEAD", tenant });
      if (answer.status !== 200 && answer.status !== 404) throw unexpected(answer);
      return answer.status === 200;
    },
    parameters: async ({ sha256, format, ifNoneMatch, method }, { deadlineMs, signal, metadata }) => {
      const query = format === undefined ? "" : `?format=${format}`;
      try {
        return await send(`${coordinatorUrl}/v1/blobs/${encodeURIComponent(sha256)}/parameters${query}`, {
          method,
          headers: {
            ...authorization,
            ...requestHeader(metadata),
            ...(ifNoneMatch === undefined ? {} : { "if-none-match": ifNoneMatch }),
          },
          signal: AbortSignal.any([AbortSignal.timeout(deadlineMs), ...(signal ? [signal] : [])]),
        });
      } catch (cause) {
        throw unreachable(cause);
      }
    },
    blob: async ({ sha256, tenant, method, body, bytes }, { deadlineMs, signal, metadata }) => {
      try {
        return await send(`${coordinatorUrl}/v1/blobs/${encodeURIComponent(sha256)}`, {
          method,
          headers: {
            ...authorization,
            ...requestHeader(metadata),
            ...tenantHeader(tenant),
            ...(bytes === undefined ? {} : { "content-length": bytes }),
          },
          ...(body ? { body, duplex: "half" } : {}),
          signal: AbortSignal.any([AbortSignal.timeout(deadlineMs), ...(signal ? [signal] : [])]),
        } as RequestInit);
      } catch (cause) {
        throw unreachable(cause);
      }
    },
    storage: async (tenant, options) => {
      const answer = await ask("/v1/storage", options, { method: "GET", tenant });
      if (answer.status !== 200) throw unexpected(answer);
      const { used_bytes: used, limit_bytes: limit } = JSON.parse(answer.text) as { used_bytes: number; limit_bytes: number | null };
      return { used, limit };
    },
    initialProblem: async ({ sha256, settings }, options) => {
      const answer = await ask(`/v1/blobs/${encodeURIComponent(sha256)}/initial`, options, { method: "POST", body: settings });
      if (answer.status === 404) return "the coordinator does not have it; upload it with PUT /training/blobs/{sha256}";
      if (answer.status !== 200) throw unexpected(answer);
      return (JSON.parse(answer.text) as { problem: string | null }).problem ?? undefined;
    },
    servable: async (sha256, task, options) => {
      const answer = await ask(servablePath(sha256, task), options, { method: "GET" });
      if (answer.status === 404) return undefined;
      if (answer.status !== 200) throw unexpected(answer);
      return JSON.parse(answer.text) as Servable;
    },
    unable: async (asked, options) => {
      const answer = await ask("/v1/participants/look", options, { method: "POST", body: asked });
      if (answer.status !== 200) throw unexpected(answer);
      return (JSON.parse(answer.text) as { cannot: { index: number; missing: Capability[] }[] }).cannot;
    },
  };
}

/** The path of a coordinator or a trainer node for the question whether a blob can be served. */
export const servablePath = (sha256: string, task: string): string =>
  `/v1/blobs/${encodeURIComponent(sha256)}/servable?task=${encodeURIComponent(task)}`;

type Ask = (
  path: string,
  options: CallOptions,
  sent: { method: string; body?: object; tenant?: string },
) => Promise<{ status: number; text: string }>;

function federationCalls(ask: Ask): Pick<CoordinatorClient, "verify" | "replay" | "servers"> {
  const federation = (id: string, what: string) => `/v1/federations/${encodeURIComponent(id)}/${what}`;
  return {
    verify: async (federationId, options) => {
      const answer = await ask(federation(federationId, "verify"), options, { method: "GET" });
      if (answer.status !== 200) throw unexpected(answer);
      return JSON.parse(answer.text) as Verification;
    },
    replay: async (federationId, body, options) => {
      const answer = await ask(federation(federationId, "replays"), options, { method: "POST", body });
      if (answer.status === 200) return JSON.parse(answer.text) as FederationReplay;
      throw answer.status >= 400 && answer.status < 500 && answer.status !== 401 ? refused(answer.text) : unexpected(answer);
    },
    servers: async (federationId, participants, options) => {
      const body = participants === undefined ? {} : { participants };
      const answer = await ask(federation(federationId, "servers"), options, { method: "POST", body });
      if (answer.status !== 200) throw unexpected(answer);
      return JSON.parse(answer.text) as ServingParticipants;
    },
  };
}

function requestHeader(metadata: CallOptions["metadata"]): Record<string, string> {
  const requestId = metadata?.["x-request-id"];
  return requestId ? { "x-request-id": requestId } : {};
}

const tenantHeader = (tenant: string): Record<string, string> => (tenant === "" ? {} : { "x-gw-tenant": tenant });

/** The coordinator's own error message. */
function refused(text: string): AppError {
  let message = "The coordinator refused the request.";
  try {
    message = String((JSON.parse(text) as { error?: unknown }).error ?? message);
  } catch {
    // The body is not the coordinator's JSON: the general message stays.
  }
  return new AppError("VALIDATION_ERROR", message);
}

const unexpected = ({ status, text }: { status: number; text: string }): AppError =>
  unreachable(`it answered ${status}: ${text.slice(0, 500)}`);

function unreachable(cause: unknown): AppError {
  return new AppError("UPSTREAM_UNAVAILABLE", "The coordinator cannot be reached; try again later.", { internal: String(cause), cause });
}
