/** The reason why a participant gave no result. The round continues without it. */
export class ParticipantProblem extends Error {
  /** Whether a retry in the same round can help. */
  readonly again: boolean;
  readonly retryAfterMs: number | undefined;

  constructor(message: string, options: { again: boolean; retryAfterMs?: number | undefined; cause?: unknown }) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "ParticipantProblem";
    this.again = options.again;
    this.retryAfterMs = options.retryAfterMs;
  }
}
