import { AppError } from "../../common/errors.ts";

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

export interface Replay {
  strategy: Record<string, unknown>;
  rounds: { round: number; parameters: string; original: Score; replayed: Score }[];
}

/** The coordinator's own door: what needs the bytes of updates and models, which are nowhere else. */
export interface CoordinatorClient {
  verify(federationId: string, options: { deadlineMs: number; signal?: AbortSignal | undefined }): Promise<Verification>;
  replay(federationId: string, body: object, options: { deadlineMs: number; signal?: AbortSignal | undefined }): Promise<Replay>;
}

export function connectCoordinator(url: string): CoordinatorClient {
  return {
    verify: async (federationId, { deadlineMs, signal }) => {
      const inTime = AbortSignal.any([AbortSignal.timeout(deadlineMs), ...(signal ? [signal] : [])]);
      try {
        const answer = await fetch(`${url}/v1/federations/${encodeURIComponent(federationId)}/verify`, { signal: inTime });
        if (answer.ok) return (await answer.json()) as Verification;
        throw new Error(`it answered ${answer.status}: ${(await answer.text()).slice(0, 500)}`);
      } catch (cause) {
        throw new AppError("UPSTREAM_UNAVAILABLE", "The coordinator cannot be reached; try again later.", {
          internal: String(cause),
          cause,
        });
      }
    },
    replay: async (federationId, body, { deadlineMs, signal }) => {
      const inTime = AbortSignal.any([AbortSignal.timeout(deadlineMs), ...(signal ? [signal] : [])]);
      const answer = await fetch(`${url}/v1/federations/${encodeURIComponent(federationId)}/replays`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
        signal: inTime,
      }).catch((cause: unknown) => {
        throw unreachable(cause);
      });
      const text = await answer.text().catch((cause: unknown) => {
        throw unreachable(cause);
      });
      if (answer.ok) return JSON.parse(text) as Replay;
      if (answer.status >= 400 && answer.status < 500 && answer.status !== 401) throw refused(text);
      throw unreachable(`it answered ${answer.status}: ${text.slice(0, 500)}`);
    },
  };
}

/** What is wrong with the request, as the coordinator says it. */
function refused(text: string): AppError {
  let message = "The coordinator refused the request.";
  try {
    message = String((JSON.parse(text) as { error?: unknown }).error ?? message);
  } catch {
    // Not ours to read; the general text stays.
  }
  return new AppError("VALIDATION_ERROR", message);
}

function unreachable(cause: unknown): AppError {
  return new AppError("UPSTREAM_UNAVAILABLE", "The coordinator cannot be reached; try again later.", { internal: String(cause), cause });
}
