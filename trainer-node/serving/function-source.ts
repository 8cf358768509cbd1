import type { Logger } from "../../common/logger.ts";
import { operatorFetch } from "../../common/operator-fetch.ts";
import { FUNCTION_CALL_BYTES_MAX } from "../../common/training/trained-manifest.ts";
import type { TrainerDeps } from "../deps.ts";
import { TrainerError } from "../errors.ts";

/** Options of calls to own functions. */
export interface FunctionSourceOptions {
  /** Addresses of coordinators, tried in this order. */
  readonly urls: readonly string[];
  readonly token?: string | undefined;
  /** Presents this node's certificate, if it has one; the plain one if absent. */
  readonly fetch?: typeof fetch;
  readonly timeoutMs: number;
  readonly logger: Logger;
}

/**
 * Calls the serve function of a federation's node through a coordinator, which has the parameters and the credentials of the node. A
 * coordinator that cannot be reached or has no node that answers is followed by the next.
 */
export function createFunctionSource(options: FunctionSourceOptions): TrainerDeps["callFunction"] {
  const { urls, token, timeoutMs, logger, fetch: request = operatorFetch } = options;
  const headers = { "content-type": "application/json", ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) };
  const ask = async (url: string, sent: RequestInit): Promise<Outcome> => {
    try {
      return readOutcome(await request(url, { method: "POST", headers, ...sent }));
    } catch (thrown) {
      logger.warn({ url, error: String(thrown) }, "calling a serve function failed");
      return { failure: sent.signal?.aborted ? `the call took more than ${timeoutMs} ms` : "the coordinator cannot be reached" };
    }
  };
  return async ({ federation, blob }, call, signal) => {
    if (!federation || blob === undefined) throw new TrainerError("NOT_FOUND", "The manifest names no function.");
    const body = Buffer.from(JSON.stringify({ participants: federation.participants, blob, ...call }));
    if (body.byteLength > FUNCTION_CALL_BYTES_MAX) throw tooLarge(body.byteLength);
    const path = `/v1/federations/${encodeURIComponent(federation.id)}/serve`;
    const inTime = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    let last = "the operator has configured no coordinator (BLOB_SOURCE_URL)";
    for (const url of urls) {
      const { output, refusal, failure } = await ask(url + path, { body, signal: inTime });
      if (output !== undefined) return output;
      signal.throwIfAborted();
      if (refusal !== undefined) throw new TrainerError("VALIDATION_ERROR", refusal);
      last = failure ?? last;
    }
    throw new TrainerError("BUSY", `No node of this model can answer now: ${last}`, { retryAfterSeconds: 5 });
  };
}

function tooLarge(bytes: number): TrainerError {
  const message = `The model's function gets the last message and all messages, ${bytes} bytes as JSON, and at most ${FUNCTION_CALL_BYTES_MAX} bytes. Send less text.`;
  return new TrainerError("PAYLOAD_TOO_LARGE", message);
}

/** One of them: the answer, why the input is refused, or why there is no answer. */
interface Outcome {
  readonly output?: string;
  readonly refusal?: string;
  readonly failure?: string;
}

async function readOutcome(response: Response): Promise<Outcome> {
  const { output, error } = Object(await response.json()) as { output?: unknown; error?: unknown };
  if (response.status === 200 && typeof output === "string") return { output };
  const said = typeof error === "string" ? error : `the coordinator answered ${response.status}`;
  return response.status === 422 ? { refusal: said } : { failure: said };
}
