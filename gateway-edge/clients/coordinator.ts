import { AppError } from "../../common/errors.ts";

export interface Verification {
  ok: boolean;
  rounds: number;
  remade: number;
  firstBad: { round: number; reason: string } | null;
}

/** The coordinator's own door: what needs the bytes of updates and models, which are nowhere else. */
export interface CoordinatorClient {
  verify(federationId: string, options: { deadlineMs: number; signal?: AbortSignal | undefined }): Promise<Verification>;
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
  };
}
