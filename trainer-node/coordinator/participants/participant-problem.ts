/** Why a participant gave nothing. A failure is data: the round goes on without it. */
export class ParticipantProblem extends Error {
  /** Whether asking again, later in the same round, can help. */
  readonly again: boolean;
  readonly retryAfterMs: number | undefined;

  constructor(message: string, options: { again: boolean; retryAfterMs?: number | undefined; cause?: unknown }) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "ParticipantProblem";
    this.again = options.again;
    this.retryAfterMs = options.retryAfterMs;
  }
}
