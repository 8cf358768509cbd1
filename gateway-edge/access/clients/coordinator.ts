import { AppError } from "../../../common/errors.ts";
import { operatorFetch } from "../../../common/operator-fetch.ts";
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

interface CallOptions {
  deadlineMs: number;
  signal?: AbortSignal | undefined;
}

/** The coordinator's HTTP API: operations that need the bytes of updates and models, which only the coordinator has. */
export interface CoordinatorClient {
  verify(federationId: string, options: CallOptions): Promise<Verification>;
  replay(federationId: string, body: object, options: CallOptions): Promise<FederationReplay>;
  hasBlob(sha256: string, options: CallOptions): Promise<boolean>;
  /** A model as a file. The response's body is not read yet. */
  parameters(
    asked: { sha256: string; format: string | undefined; ifNoneMatch: string | undefined; method: string },
    options: CallOptions,
  ): Promise<Response>;
  /** The participants that lack a needed capability, by their index. */
  unable(
    asked: { participants: readonly { url: string; token: string; secret: string }[]; needs: readonly Capability[] },
    options: CallOptions,
  ): Promise<readonly { index: number; missing: readonly Capability[] }[]>;
}

interface CoordinatorAddress {
  readonly coordinatorUrl: string;
  readonly coordinatorToken: string | undefined;
}

export function connectCoordinator({ coordinatorUrl, coordinatorToken }: CoordinatorAddress): CoordinatorClient {
  const authorization: Record<string, string> = coordinatorToken === undefined ? {} : { authorization: `Bearer ${coordinatorToken}` };
  const ask = async (path: string, { deadlineMs, signal }: CallOptions, { method, body }: { method: string; body?: object }) => {
    try {
      const answer = await operatorFetch(coordinatorUrl + path, {
        method,
        headers: { ...authorization, ...(body ? { "content-type": "application/json" } : {}) },
        body: body ? JSON.stringify(body) : null,
        signal: AbortSignal.any([AbortSignal.timeout(deadlineMs), ...(signal ? [signal] : [])]),
      });
      return { status: answer.status, text: await answer.text() };
    } catch (cause) {
      throw unreachable(cause);
    }
  };
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
    hasBlob: async (sha256, options) => {
      const answer = await ask(`/v1/blobs/${encodeURIComponent(sha256)}`, options, { method: "HEAD" });
      if (answer.status !== 200 && answer.status !== 404) throw unexpected(answer);
      return answer.status === 200;
    },
    parameters: async ({ sha256, format, ifNoneMatch, method }, { deadlineMs, signal }) => {
      const query = format === undefined ? "" : `?format=${format}`;
      try {
        return await operatorFetch(`${coordinatorUrl}/v1/blobs/${encodeURIComponent(sha256)}/parameters${query}`, {
          method,
          headers: { ...authorization, ...(ifNoneMatch === undefined ? {} : { "if-none-match": ifNoneMatch }) },
          signal: AbortSignal.any([AbortSignal.timeout(deadlineMs), ...(signal ? [signal] : [])]),
        });
      } catch (cause) {
        throw unreachable(cause);
      }
    },
    unable: async (asked, options) => {
      const answer = await ask("/v1/participants/look", options, { method: "POST", body: asked });
      if (answer.status !== 200) throw unexpected(answer);
      return (JSON.parse(answer.text) as { cannot: { index: number; missing: Capability[] }[] }).cannot;
    },
  };
}

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
